// Decides if a round shape touches a box that its bounds touch, in a walk along a path. Shared, with walk.wgsl,
// path_sight.wgsl, path_time.wgsl and round.wgsl, by the kernels that walk.

// Returns whether the ranks of boxes are their times, without an error.
fn are_ranks_exact() -> bool {
    return is_round;
}

// Returns the distance of a box that passed all other tests; NOT_MET if the shape misses or skips it.
fn near_exactly(own: BoxBits, near: f32) -> f32 {
    if !is_round {
        return near;
    }
    // Include the turns of rounding the time when the bounds touch.
    round_turns = 2u * DECISION;
    let touch = touch_of(own, number_of(own), touches_at_start(own));
    spent += round_turns;
    if SKIPS_SEPARATING && touch.is_at_start {
        spent += 6u * DECISION;
        if departs(touch, own) {
            return NOT_MET;
        }
    }
    return select(NOT_MET, bitcast<f32>(touch.t), touch.is_touched);
}
