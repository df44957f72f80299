// What the kernels of a radix pass share: `sort_pass` and `counts` are theirs.

// Returns the number of keys.
fn sort_length() -> u32 {
    return select(counts.entry_count, counts.written, sort_pass.of_pairs == 1u);
}

// Returns the lowest bit of the pass's digit. Passes over entries are laid out so that the last one sorts by the
// highest bits of a key of 32 bits; a shorter key leaves out the first ones.
fn sort_shift() -> u32 {
    return sort_pass.shift - select(32u - counts.key_bits, 0u, sort_pass.of_pairs == 1u);
}

// Returns the number of tiles whose counts are scanned: none if the pass is left out, since then nobody has counted.
fn scanned_tiles() -> u32 {
    let is_left_out = sort_pass.of_pairs == 0u && sort_pass.shift + counts.key_bits < 32u;
    return select(div_ceil(sort_length(), SORT_TILE), 0u, is_left_out);
}
