// order_count: the sizes of rows. A pair is in the row of its first box, or in the rows of both.
//
// Reads   order     one OrderParams
//         counts    written
//         pairs     [written] (a, b), each once, in any order
// Changes offsets   [row_count + 1] zeros, to the size of row i at place i + 1
// An invocation per ORDER_RUN pairs. Pairs of one first box that follow each other are counted by one atomic: those of a giant
// would else all wait for the same word.
// Source: rows by counting, as in a counting sort, Knuth, The Art of Computer Programming 3, 5.2.

@group(0) @binding(0) var<uniform> order: OrderParams;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> offsets: array<atomic<u32>>;

@compute @workgroup_size(256)
fn order_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group_index(group, groups) * 256u + local) * ORDER_RUN;
    let end = min(first + ORDER_RUN, counts.written);
    if first >= end {
        return;
    }
    var row = pairs[first].x;
    var size = 0u;
    for (var i = first; i < end; i += 1u) {
        let pair = pairs[i];
        if pair.x != row {
            atomicAdd(&offsets[row + 1u], size);
            row = pair.x;
            size = 0u;
        }
        size += 1u;
        if order.ways == 2u {
            atomicAdd(&offsets[pair.y + 1u], 1u);
        }
    }
    atomicAdd(&offsets[row + 1u], size);
}
