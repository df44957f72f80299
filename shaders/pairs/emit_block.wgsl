// The list of the pairs of a block of giants, tile by tile: shared by emit_giants and emit_joined, which have `emit_word`, whose walks have
// `word_of` and `count_in`, and which bind params, counts, hit_words and block_hits.

// Every invocation of the workgroup has to call.
fn emit_block(block: u32, local: u32) {
    if block >= counts.giant_blocks {
        return;
    }
    let at = counts.sweep_blocks + block;
    var next = pairs_before(at, local);
    if !meets_window(next, hits_of(at)) {
        return;
    }
    let first = block * counts.giant_tiles_per_block;
    let end = min(first + counts.giant_tiles_per_block, counts.giant_tiles);
    for (var tile = first; tile < end; tile += 1u) {
        var word = 0u;
        if tile < params.giant_tile_capacity {
            word = hit_words[tile * 256u + local];
        } else {
            word = word_of(tile, local);
        }
        let scan = scan_workgroup(local, count_in(word));
        if count_in(word) != 0u {
            emit_word(tile, local, word, add64(next, vec2<u32>(scan.before, 0u)));
        }
        next = add64(next, vec2<u32>(scan.total, 0u));
    }
}
