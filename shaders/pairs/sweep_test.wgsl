// sweep_test: the exact test of every candidate of the sweep.
//
// Reads   boxes       [box_count * 3] bits of f32, two at a time
//         counts, entries, stretches, footprints, path_bases: the path (see sweep_walk.wgsl)
// Writes  runs        [tile_capacity * RUN_WORDS * 256] what each run found, as far as there is room
//         block_hits  [HIT_SUMS] sums, added to zeros, then [sweep_blocks] the pairs of each block (hit_count.wgsl)
// A workgroup has a block of tiles, an invocation as many runs in a row as the block has tiles. It looks at RUN_QUADS quads at
// a time, whatever entries, cells or rows they belong to. What survives is tested exactly.
// Sources: those of sweep_walk.wgsl.

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
    let first_run = local * per_block;
    var hit_count = 0u;
    var walk = walk_from(add64(mul64(first, TILE_QUADS), vec2<u32>(first_run * RUN_QUADS, 0u)), per_block * RUN_QUADS);
    for (var nth = first_run; nth < first_run + per_block; nth += 1u) {
        let tile = first + nth / 256u;
        if tile >= end {
            break;
        }
        let found = survey(&walk);
        var run = found.run;
        run.hits = exact_hits(found);
        hit_count += countOneBits(run.hits);
        if tile < params.tile_capacity {
            let at = tile * (RUN_WORDS * 256u) + nth % 256u;
            runs[at] = run.hits;
            runs[at + 256u] = run.first_quad;
            runs[at + 512u] = rank_and_turns(run);
        }
    }
    count_block(block, local, hit_count);
}
