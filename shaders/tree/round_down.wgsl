// Finds the largest f32 that is at most a nonnegative number. Shared by the kernels that return a number; they have
// `is_at_most`, which decides exactly.

// Searches from a guess on, with doubling steps, then by bisection. The bits of nonnegative numbers ascend with the
// numbers. There is one loop with one call of `is_at_most`, since compilers inline each call.
fn round_down(guess: f32, what: Measure) -> u32 {
    // `low` is at most the number, and `high` is not.
    var low = 0u;
    var high = INFINITY;
    var next = min(bitcast<u32>(guess) & 0x7fffffffu, INFINITY - 1u);
    var step = 1u;
    while high - low > 1u {
        if is_at_most(next, what) {
            low = next;
        } else {
            high = next;
        }
        // Step up or down from the guess while the other bound is unknown.
        let up = low + min(step, high - low - 1u);
        let down = high - min(step, high - low - 1u);
        let middle = low + (high - low) / 2u;
        next = select(select(middle, down, low == 0u), up, high == INFINITY);
        step = min(2u * step, 0x10000000u);
    }
    return low;
}
