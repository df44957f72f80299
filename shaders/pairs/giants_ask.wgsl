// giants_ask: the exact test of each box against the giants of those rows whose bounds it meets.
//
// Reads   params, counts
//         boxes        [box_count * 3] bits of f32, two at a time
//         entries      [entry_count], giants [giant_count]
//         row_bounds   [rows * 3] and [parts * 3], of giants_order
// Writes  hit_words    [tiles * 256] the pairs that each invocation found, and where (asked_walk.wgsl), as far as there is room
//         block_hits   [giant_blocks] after those of sweep_test: pairs found by each workgroup; zero before
// In place of giants_join where boxes in a row lie all over the giants, as those of a world do over ground that all worlds
// have in common. No barrier, as in sweep_test.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> giants: array<u32>;
@group(0) @binding(5) var<storage, read> row_bounds: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> hit_words: array<u32>;
@group(0) @binding(7) var<storage, read_write> block_hits: array<atomic<u32>>;

@compute @workgroup_size(256)
fn giants_ask(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    join_block(group_index(group, groups), local);
}
