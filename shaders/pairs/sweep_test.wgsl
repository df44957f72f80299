// sweep_test: the exact test of every candidate of the sweep.
//
// Reads   boxes       [box_count * 3] bits of f32, two at a time
//         counts, entries, stretches, footprints, path_bases: the path (see sweep_walk.wgsl)
// Writes  runs        [tile_capacity * RUN_WORDS * 256] what each run found, as far as there is room
//         block_hits  [sweep_blocks] pairs found in tiles that had no room; zero before
// Every invocation looks at RUN_QUADS quads, whatever entries, cells or rows they belong to. What survives is tested
// exactly. There is no barrier here: software adapters keep the registers of a kernel with barriers in memory.
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
    let per_group = counts.sweep_tiles_per_group;
    let first = group_index(group, groups) * per_group;
    let end = min(first + per_group, counts.sweep_tiles);
    let first_run = local * per_group;
    var hit_count = 0u;
    var walk = walk_from(add64(mul64(first, TILE_QUADS), vec2<u32>(first_run * RUN_QUADS, 0u)), per_group * RUN_QUADS);
    for (var nth = first_run; nth < first_run + per_group; nth += 1u) {
        let tile = first + nth / 256u;
        if tile >= end {
            break;
        }
        let found = survey(&walk);
        var run = found.run;
        run.hits = exact_hits(found);
        if tile < params.tile_capacity {
            let at = tile * (RUN_WORDS * 256u) + nth % 256u;
            runs[at] = run.hits;
            runs[at + 256u] = run.first_quad;
            runs[at + 512u] = rank_and_turns(run);
        } else {
            hit_count += countOneBits(run.hits);
        }
    }
    if hit_count > 0u {
        atomicAdd(&block_hits[first / counts.sweep_tiles_per_block], hit_count);
    }
}
