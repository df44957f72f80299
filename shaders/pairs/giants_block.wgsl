// The tiles of a block of giants, one after the other: shared by giants_test and giants_join, whose walks have `word_of` and `count_in`, and
// which bind params, counts, hit_words and block_hits.

// Keeps what an invocation finds in each tile, as far as there is room, and counts the pairs. Every invocation of the workgroup has to
// call.
fn test_block(block: u32, local: u32) {
    if block >= counts.giant_blocks {
        return;
    }
    let first = block * counts.giant_tiles_per_block;
    let end = min(first + counts.giant_tiles_per_block, counts.giant_tiles);
    var hits = 0u;
    for (var tile = first; tile < end; tile += 1u) {
        let word = word_of(tile, local);
        if tile < params.giant_tile_capacity {
            hit_words[tile * 256u + local] = word;
        }
        hits += count_in(word);
    }
    count_block(counts.sweep_blocks + block, local, hits);
}
