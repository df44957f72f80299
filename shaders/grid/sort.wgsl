// What the kernels of a radix pass share: `sort_pass` and `counts` are theirs.

// Returns the number of keys.
fn sort_length() -> u32 {
    return select(counts.entry_count, counts.written, sort_pass.of_pairs == 1u);
}

// Returns the bits that passes over entries are laid out for: SORT_STEPS steps of one digit, or of two small ones.
fn laid_out_bits() -> u32 {
    return SORT_STEPS * max(sort_pass.digit_bits, STEP_BITS);
}

// Returns the lowest bit of the pass's digit. Passes over entries are laid out so that the last one sorts by the
// highest bits of the longest key; a shorter key leaves out the first ones.
fn sort_shift() -> u32 {
    return sort_pass.shift - select(laid_out_bits() - counts.key_bits, 0u, sort_pass.of_pairs == 1u);
}

// Returns the number of tiles: none if the pass is left out. There may be more workgroups.
fn scanned_tiles() -> u32 {
    let is_left_out = sort_pass.of_pairs == 0u && sort_pass.shift + counts.key_bits < laid_out_bits();
    return select(div_ceil(sort_length(), SORT_TILE), 0u, is_left_out);
}
