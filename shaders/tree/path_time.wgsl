// Computes the time when a path touches a box, as an f32. Shared by the kernels that return times, together with
// path.wgsl and round_down.wgsl.

alias Measure = Crossing;

// Returns whether a nonnegative number is at most the time of a crossing.
fn is_at_most(number: u32, what: Measure) -> bool {
    return compare_crossings(what, Crossing(number, 0u, ONE)) >= 0;
}

// Returns the time at which the path touches a box, rounded down, in bits. The path must touch the box.
fn number_of(own: BoxBits) -> u32 {
    let what = latest(own.low, own.high);
    if what.speed == 0u {
        return 0u;
    }
    var guess = 1.0;
    if is_usual && class_of(own.low, own.high) == 0u {
        guess = (bitcast<f32>(what.plane) - bitcast<f32>(what.origin)) / bitcast<f32>(what.speed);
    }
    return round_down(guess, what);
}
