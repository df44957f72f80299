// giants_test: the exact test of each of a few giants against every box.
//
// Reads   boxes       [box_count * 3] bits of f32, two at a time
//         cells       [box_count], giants [giant_count], counts, frame
// Writes  hit_words   [tiles * 256] one bit per test, as far as there is room
//         block_hits  [giant_blocks] after those of sweep_test: the pairs of each block, and their sums (hit_count.wgsl)

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> counts: Counts;
@group(0) @binding(3) var<storage, read> frame: Frame;
@group(0) @binding(4) var<storage, read> cells: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> giants: array<u32>;
@group(0) @binding(6) var<storage, read_write> hit_words: array<u32>;
@group(0) @binding(7) var<storage, read_write> block_hits: array<atomic<u32>>;

@compute @workgroup_size(256)
fn giants_test(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    test_block(group_index(group, groups), local);
}
