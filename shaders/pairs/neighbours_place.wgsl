// neighbours_place: the neighbours of each box, ascending: first those before it, then those behind it.
//
// Reads   counts      written
//         pairs       [written] (a, b), in canonical order
//         keys        [written] their b, ascending
//         values      [written] their a, ascending where b is equal
//         offsets     [boxes + 1] of neighbours_rows
//         pairs_from  [boxes + 1] of neighbours_rows
// Writes  neighbours  [2 * written]
// An invocation per pair, which is the k-th in either order. In front of it are k of its own list, and of the other list
// those of boxes before; or, of a pair (a, b) for a, also those of the box itself.

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read> offsets: array<u32>;
@group(0) @binding(5) var<storage, read> pairs_from: array<u32>;
@group(0) @binding(6) var<storage, read_write> neighbours: array<u32>;

@compute @workgroup_size(256)
fn neighbours_place(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = group_index(group, groups) * 256u + local;
    if k < counts.written {
        neighbours[k + pairs_from[keys[k]]] = values[k];
        let pair = pairs[k];
        let next = pair.x + 1u;
        neighbours[k + offsets[next] - pairs_from[next]] = pair.y;
    }
}
