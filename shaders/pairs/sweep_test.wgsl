// sweep_test: tests every candidate of the sweep exactly.
//
// Reads   boxes       [box_count * 3] bits of f32, two at a time
//         counts, entries, stretches, footprints, path_bases: the path (see sweep_walk.wgsl)
// Writes  runs        [tile_capacity * RUN_U32_COUNT * 256] the result of each run, up to the capacity
//         block_hits  [HIT_SUMS] sums, added to zeros; then, behind the blocks of giants, [sweep_blocks] the pairs of
//                     each block (hit_count.wgsl)
//
// A workgroup tests a block of tiles. An invocation tests as many consecutive runs as the block has tiles. It compares
// RUN_QUADS quads at a time, across entries, cells and rows. Survivors are tested exactly.
//
// Sources: as sweep_walk.wgsl.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> stretches: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> footprints: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> path_bases: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> runs: array<u32>;
@group(0) @binding(8) var<storage, read_write> block_hits: array<atomic<u32>>;

@compute @workgroup_size(256)
fn sweep_test(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    if block >= counts.sweep_blocks {
        return;
    }
    let per_block = counts.sweep_tiles_per_block;
    let first = block * per_block;
    let end = min(first + per_block, counts.sweep_tiles);
    var hit_count = 0u;
    // The loop runs more than once only for blocks with more than MOST_BLOCK_TILES tiles.
    for (var tile = first; tile < end; tile += MOST_BLOCK_TILES) {
        hit_count += test_tiles(tile, min(tile + MOST_BLOCK_TILES, end), local);
    }
    count_block(counts.giant_blocks + block, local, hit_count);
}

// Tests tiles `first` to before `end`, at most MOST_BLOCK_TILES. An invocation tests one run per tile, consecutive runs
// of the path. Returns the hit count of the invocation. Every invocation of the workgroup must call it.
fn test_tiles(first: u32, end: u32, local: u32) -> u32 {
    let start = mul64(first, TILE_QUADS);
    find_sections(start, local);
    let each = end - first;
    let first_run = local * each;
    var hit_count = 0u;
    var walk = walk_from(add64(start, vec2<u32>(first_run * RUN_QUADS, 0u)), each * RUN_QUADS);
    for (var nth = first_run; nth < first_run + each; nth += 1u) {
        let tile = first + nth / 256u;
        let found = survey(&walk);
        var run = found.run;
        run.hits = exact_hits(found);
        hit_count += countOneBits(run.hits);
        if tile < params.tile_capacity {
            let at = tile * (RUN_U32_COUNT * 256u) + nth % 256u;
            runs[at] = run.hits;
            runs[at + 256u] = run.first_quad;
            runs[at + 512u] = rank_and_turns(run);
        }
    }
    workgroupBarrier(); // before the sections of the next tiles are looked up
    return hit_count;
}
