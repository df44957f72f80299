// giants_join: the exact test of many giants against the boxes of those rows whose bounds they meet.
//
// Reads   params, counts
//         boxes        [box_count * 3] bits of f32, two at a time
//         entries      [entry_count], giants [giant_count]
//         row_bounds   [rows * 3], of giants_rows
// Changes hit_words    [tiles * 256] to the pairs that each invocation found and the giants near its row (joined_walk.wgsl), as far as
//                      there is room; behind them those of giants_rows are read
// Writes  block_hits   [giant_blocks] after those of sweep_test: the pairs of each block, and their sums (hit_count.wgsl)
// In place of giants_test, which tests each giant against all boxes.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> giants: array<u32>;
@group(0) @binding(5) var<storage, read> row_bounds: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> hit_words: array<u32>;
@group(0) @binding(7) var<storage, read_write> block_hits: array<atomic<u32>>;

@compute @workgroup_size(256)
fn giants_join(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    test_block(group_index(group, groups), local);
}
