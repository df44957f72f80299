// The largest f32 that is at most some number, which is not negative. Shared by the kernels that answer with a number; they
// have `is_at_most`, which tells exactly.

// Searches from a guess on: steps of doubling length, then of halves. Bits ascend with numbers that are not negative.
fn round_down(guess: f32, what: Measure) -> u32 {
    let largest = INFINITY - 1u;
    let start = min(bitcast<u32>(guess) & 0x7fffffffu, largest);
    var step = 1u;
    // `low` is at most the number, `high` is not.
    var low = 0u;
    var high = INFINITY;
    if is_at_most(start, what) {
        low = start;
        loop {
            let next = min(low, largest - step) + step;
            if next == low || !is_at_most(next, what) {
                high = select(next, INFINITY, next == low);
                break;
            }
            low = next;
            step = min(2u * step, 0x10000000u);
        }
    } else {
        high = start;
        loop {
            let next = high - min(high, step);
            if next == 0u || is_at_most(next, what) {
                low = next;
                break;
            }
            high = next;
            step = min(2u * step, 0x10000000u);
        }
    }
    while high - low > 1u {
        let middle = low + (high - low) / 2u;
        if is_at_most(middle, what) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
