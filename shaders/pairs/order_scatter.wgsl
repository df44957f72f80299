// order_scatter: the other boxes of all pairs, row by row, in any order within a row.
//
// Reads   order     one OrderParams
//         counts    written
//         pairs     [written] (a, b), each once
// Changes offsets   [row_count + 1] the begin of row i at place i + 1, to its end: from then on, row i begins at place i
// Writes  others    [ways * written]
// An invocation per ORDER_RUN pairs. The order within a row depends on which invocation comes first; order_sort ends that.

@group(0) @binding(0) var<uniform> order: OrderParams;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> offsets: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> others: array<u32>;

@compute @workgroup_size(256)
fn order_scatter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    var i = (group_index(group, groups) * 256u + local) * ORDER_RUN;
    let end = min(i + ORDER_RUN, counts.written);
    while i < end {
        let row = pairs[i].x;
        var behind = i + 1u;
        while behind < end && pairs[behind].x == row {
            behind += 1u;
        }
        var place = atomicAdd(&offsets[row + 1u], behind - i);
        for (; i < behind; i += 1u) {
            let other = pairs[i].y;
            others[place] = other;
            place += 1u;
            if order.ways == 2u {
                others[atomicAdd(&offsets[other + 1u], 1u)] = row;
            }
        }
    }
}
