// Bits of a word.

// Returns a word in which the first `count` bits are set, or all where there are more.
fn bits_up_to(count: u32) -> u32 {
    return select((1u << (count % 32u)) - 1u, 0xffffffffu, count >= 32u);
}
