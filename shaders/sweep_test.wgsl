// sweep_test: the exact test of every candidate of the sweep.
//
// Reads   boxes       [box_count * 6] bits of f32
//         counts, entries, steps, path_bases: the path (see sweep_walk.wgsl)
// Writes  hit_words   [tiles * 256] one bit per item of the path, as far as there is room
//         block_hits  [sweep_blocks] pairs found by each workgroup
// Every invocation walks 32 items, whatever boxes, cells or rows they belong to.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<u32>;
@group(0) @binding(2) var<storage, read> counts: Counts;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> steps: array<Step>;
@group(0) @binding(5) var<storage, read> path_bases: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> hit_words: array<u32>;
@group(0) @binding(7) var<storage, read_write> block_hits: array<u32>;

var<workgroup> hits: atomic<u32>;

@compute @workgroup_size(256)
fn sweep_test(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let first = block * counts.sweep_tiles_per_block;
    let end = min(first + counts.sweep_tiles_per_block, counts.sweep_tiles);
    for (var tile = first; tile < end; tile += 1u) {
        let word = test_items(add64(mul64(tile, HIT_TILE), vec2<u32>(local * 32u, 0u)));
        if tile < params.hit_tile_capacity {
            hit_words[tile * 256u + local] = word;
        }
        if word != 0u {
            atomicAdd(&hits, countOneBits(word));
        }
    }
    workgroupBarrier();
    if local == 0u && block < counts.sweep_blocks {
        block_hits[block] = atomicLoad(&hits);
    }
}
