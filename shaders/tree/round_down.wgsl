// The largest f32 that is at most some number, which is not negative. Shared by the kernels that answer with a number; they
// have `is_at_most`, which decides exactly.

// Searches from a guess on: steps of doubling length, then of halves. Bits ascend with numbers that are not negative. One loop
// for all of it, with one question, since compilers write out each call.
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
        // Up or down from the guess, as long as the other side is open.
        let up = low + min(step, high - low - 1u);
        let down = high - min(step, high - low - 1u);
        let middle = low + (high - low) / 2u;
        next = select(select(middle, down, low == 0u), up, high == INFINITY);
        step = min(2u * step, 0x10000000u);
    }
    return low;
}
