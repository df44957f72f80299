// Words that giants_join or giants_ask keeps of each invocation of a tile: how many pairs it found, and where. Shared by them and by the
// kernels that list these pairs.

fn packed(count: u32, found: u32) -> u32 {
    return (count << FOUND_BITS) | found;
}

fn count_in(word: u32) -> u32 {
    return word >> FOUND_BITS;
}

fn found_in(word: u32) -> u32 {
    return word & ((1u << FOUND_BITS) - 1u);
}
