// small_include: sets the bits of the included pairs, if every box was tested against every other.
//
// Reads   params
//         included    [include_count] (a, b), a < b, each once; small_test sets none of their bits
// Changes hit_words   [tiles * SMALL_LINES * 256] a bit per test (small_tiles.wgsl)
//         block_hits  [tiles * SMALL_GROUPS] pairs found, by group of rows and tile

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> included: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> hit_words: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> block_hits: array<atomic<u32>>;

@compute @workgroup_size(256)
fn small_include(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= params.include_count {
        return;
    }
    let pair = included[i];
    let block = pair.x / 256u;
    let row = pair.x % 256u;
    let column = pair.y % 256u;
    let across = pair.y / 256u - block;
    let line = (tiles_before(block) + across) * SMALL_LINES + column / 32u;
    atomicOr(&hit_words[line * 256u + row], 1u << (column % 32u));
    atomicAdd(&block_hits[hits_at(block, row / SMALL_ROWS) + across], 1u);
}
