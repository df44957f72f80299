// order_split: takes pairs apart for the sort into canonical order, which sorts by b and then, stably, by a.
//
// Reads   counts     written
//         pairs      [written] (a, b)
// Writes  keys       [written] b
//         values     [written] a
// Source: a radix sort by the less significant key first, Knuth, The Art of Computer Programming 3, 5.2.5.

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> values: array<u32>;

@compute @workgroup_size(256)
fn order_split(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i < counts.written {
        keys[i] = pairs[i].y;
        values[i] = pairs[i].x;
    }
}
