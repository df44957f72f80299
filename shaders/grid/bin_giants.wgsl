// Divides the tests of giants among workgroups. The first workgroup of bin_scatter runs it, which binds params, counts
// and giant_sizes. A tile is a group of giants and 256 rows of boxes (pairs/giants_walk.wgsl). A block is a range of
// consecutive tiles that one workgroup tests, with one pair count. There are at most MOST_GIANT_BLOCKS blocks.

fn divide_giants(entry_count: u32, giant_count: u32) {
    // A search with more candidates than the limit is refused later. Its tile count may exceed 2^32, so it is not
    // divided here.
    let limit = vec2<u32>(params.candidate_limit_low, params.candidate_limit_high);
    let is_beyond = less64(limit, mul64(giant_count, params.box_count));
    let rows = select(rows_of(entry_count, giant_count), 0u, is_beyond);
    let tiles = div_ceil(giant_count, GIANT_GROUP) * div_ceil(rows, 256u);
    var per_block = 1u;
    while div_ceil(tiles, per_block) > MOST_GIANT_BLOCKS {
        per_block *= 2u;
    }
    counts.giant_tiles = tiles;
    counts.giant_tiles_per_block = per_block;
    counts.giant_blocks = div_ceil(tiles, per_block);
    // One more workgroup, also without giants: the first workgroup of giants_test divides the path.
    giant_sizes = dispatch_size(1u + div_ceil(tiles, per_block));
}
