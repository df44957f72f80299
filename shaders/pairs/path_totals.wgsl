// Computes the length of the path, and divides the tests of the sweep. The first workgroup of giants_test runs it,
// which binds params, counts, path_bases and dispatches. A tile is TILE_QUADS quads. A block is a range of consecutive
// tiles that one workgroup tests, with one pair count. There are at most MOST_BLOCKS blocks; for longer paths, the
// tiles per block are multiplied by a power of two.

// Returns the tiles per block: `least`, or the smallest multiple by a power of two with at most MOST_BLOCKS blocks.
fn tiles_per_block(tiles: u32, least: u32) -> u32 {
    var per_block = least;
    while div_ceil(tiles, per_block) > MOST_BLOCKS {
        per_block *= 2u;
    }
    return per_block;
}

// Returns the least count of tiles per block of the sweep. More tiles save searches, since an invocation searches its
// place on the path once per block. Fewer tiles give the device enough workgroups.
fn least_of_sweep(tiles: u32) -> u32 {
    var per_block = MOST_BLOCK_TILES;
    while per_block > 1u && tiles / per_block < SWEEP_GROUPS {
        per_block /= 2u;
    }
    return per_block;
}

// Adds up the sums of all groups of sections, and writes the totals to counts and dispatches. Replaces the quads of
// each group by the quads before the group. Every invocation of the workgroup must call it.
fn divide_path(local: u32, entry_count: u32, giant_count: u32) {
    // Each invocation processes consecutive groups.
    let groups = div_ceil(div_ceil(entry_count, PATH_SECTION), PATH_GROUP);
    let each = div_ceil(groups, 256u);
    let first = local * each;
    let end = min(first + each, groups);
    var quads = vec2<u32>(0u);
    var candidates = vec2<u32>(0u);
    for (var group = first; group < end; group += 1u) {
        quads = add64(quads, from_halves(path_bases[2u * group]));
        candidates = add64(candidates, from_halves(path_bases[2u * group + 1u]));
    }
    let swept = scan_workgroup64(local, candidates).total;
    let scan = scan_workgroup48(local, quads);
    let length = scan.total;
    var base = scan.before;
    for (var group = first; group < end; group += 1u) {
        let own = from_halves(path_bases[2u * group]);
        path_bases[2u * group] = base;
        base = add64(base, own);
    }
    if local == 0u {
        let all = add64(swept, mul64(giant_count, params.box_count));
        let refused = less64(vec2<u32>(params.candidate_limit_low, params.candidate_limit_high), all);
        // The host limits the candidates, so the tile count fits 32 bits.
        let tiles = select(shift_right64(add64(length, vec2<u32>(TILE_QUADS - 1u, 0u)), TILE_QUADS_BITS).x, 0u, refused);
        let per_block = tiles_per_block(tiles, least_of_sweep(tiles));
        let blocks = div_ceil(tiles, per_block);
        counts.candidate_low = all.x;
        counts.candidate_high = all.y;
        counts.refused = select(0u, 1u, refused);
        counts.path_low = length.x;
        counts.path_high = length.y;
        counts.sweep_tiles = tiles;
        counts.sweep_tiles_per_block = per_block;
        counts.sweep_blocks = blocks;
        counts.first_block = 0u;
        dispatches.sweep_test = dispatch_size(blocks);
        // One workgroup writes the header, even without blocks.
        dispatches.emit_sweep = dispatch_size(max(blocks, 1u));
        let again = counts.giant_blocks + select(blocks, 0u, tiles <= params.tile_capacity);
        dispatches.emit_again = dispatch_size(select(again, 0u, refused));
    }
}
