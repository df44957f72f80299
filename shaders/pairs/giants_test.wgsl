// giants_test: tests giants against all boxes exactly, and divides the sweep.
//
// Reads   params
//         boxes       [box_count * 3] bits of f32, two at a time
//         entries     [entry_count], and behind them the giants (giants_walk.wgsl)
// Changes path_bases  quads of groups of sections, to the quads before each group (path.wgsl)
//         counts      reads what bin_scatter wrote; writes candidates, refused, tiles and blocks of the sweep,
//                     first_block
// Writes  block_hits  [HIT_SUMS] sums, added to zeros, then [giant_blocks] the pairs of each block (hit_count.wgsl)
//         dispatches  of sweep_test, emit_sweep and emit_again
//
// The first workgroup divides the path. Each other workgroup tests a block of tiles of giants. In a refused search,
// giants are still tested, but their pairs are not reported.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> counts: Counts;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read_write> path_bases: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> block_hits: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> dispatches: Dispatches;

// The fields of `counts` that the workgroup reads.
struct Giants {
    entry_count: u32,
    count: u32,
    tiles: u32,
    tiles_each: u32,          // tiles per block
}

var<workgroup> all_giants: Giants;

@compute @workgroup_size(256)
fn giants_test(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if local == 0u {
        all_giants = Giants(counts.entry_count, counts.giant_count, counts.giant_tiles, counts.giant_tiles_per_block);
    }
    let own = workgroupUniformLoad(&all_giants);
    let index = group_index(group, groups);
    if index == 0u {
        divide_path(local, own.entry_count, own.count);
        return;
    }
    let block = index - 1u;
    if block * own.tiles_each >= own.tiles {
        return;
    }
    let first = block * own.tiles_each;
    var hits = 0u;
    for (var tile = first; tile < min(first + own.tiles_each, own.tiles); tile += 1u) {
        hits += count_in(word_of(tile, local));
    }
    count_block(block, local, hits);
}
