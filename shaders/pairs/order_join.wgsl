// order_join: puts sorted pairs together again.
//
// Reads   counts     written
//         keys       [written] a, ascending
//         values     [written] b, ascending where a is equal
// Writes  pairs      [written] (a, b)

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn order_join(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i < counts.written {
        pairs[i] = vec2<u32>(keys[i], values[i]);
    }
}
