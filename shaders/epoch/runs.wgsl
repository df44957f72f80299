// The bits of items that stay, in the order of the items: pairs, or boxes.

// Returns, of a word of 32 items, the bits of those of an invocation in a tile.
fn run_of(word: u32, local: u32) -> u32 {
    return (word >> (EVENT_RUN * (local % 8u))) & ((1u << EVENT_RUN) - 1u);
}
