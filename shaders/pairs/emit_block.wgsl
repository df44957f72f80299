// The list of the pairs of a block of many giants, tile by tile: shared by emit_joined and emit_asked, which have `emit_word`, whose walks have
// `word_of`, and which bind params, counts, hit_words and hit_offsets.
// On a software adapter, which pays for each barrier, twice: without SCANS for the tiles whose words were kept, with it for all others.

override SCANS: bool = false;

// Every invocation of the workgroup has to call.
fn emit_block(block: u32, local: u32) {
    if block >= counts.giant_blocks {
        return;
    }
    let at = counts.sweep_blocks + block;
    let next = hit_offsets[at];
    if !meets_window(next, sub64(hit_offsets[at + 1u], next).x) {
        return;
    }
    let first = block * counts.giant_tiles_per_block;
    let end = min(first + counts.giant_tiles_per_block, counts.giant_tiles);
    let end_kept = clamp(params.giant_tile_capacity, first, end);
    if SCANS {
        emit_by_scans(first, end_kept, end, local, next);
    } else {
        emit_kept(first, end_kept, local, next);
    }
}

// Lists the tiles whose words were kept: an invocation that has pairs adds up those before its own.
fn emit_kept(first: u32, end_kept: u32, local: u32, before_all: vec2<u32>) {
    var next = before_all;
    for (var tile = first; tile < end_kept; tile += 1u) {
        let word = hit_words[tile * 256u + local];
        if count_in(word) != 0u {
            emit_word(tile, local, word, add64(next, vec2<u32>(pairs_before(tile, local), 0u)));
        }
        if tile + 1u < end_kept {
            next = add64(next, vec2<u32>(pairs_before(tile, 256u), 0u));
        }
    }
}

// Lists all tiles, or those whose words were not kept. Every invocation of the workgroup has to call.
fn emit_by_scans(first: u32, end_kept: u32, end: u32, local: u32, before_all: vec2<u32>) {
    let passed = select(first, end_kept, params.has_own_for_kept != 0u);
    if passed == end {
        return;
    }
    var next = before_all;
    for (var tile = first; tile < passed; tile += 1u) {
        next = add64(next, vec2<u32>(pairs_before(tile, 256u), 0u));
    }
    for (var tile = passed; tile < end; tile += 1u) {
        var word = 0u;
        if tile < end_kept {
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

// Adds up the pairs of the first `end` invocations of a tile whose words were kept. Where few invocations have pairs, that takes less than a
// scan, which all of them have to wait for.
fn pairs_before(tile: u32, end: u32) -> u32 {
    var sum = 0u;
    for (var k = 0u; k < end; k += 4u) {
        let at = tile * 256u + k;
        sum += count_in(hit_words[at]);
        sum += select(0u, count_in(hit_words[at + 1u]), k + 1u < end);
        sum += select(0u, count_in(hit_words[at + 2u]), k + 2u < end);
        sum += select(0u, count_in(hit_words[at + 3u]), k + 3u < end);
    }
    return sum;
}
