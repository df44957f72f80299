// order_count: counts the sizes of rows. A pair is in the row of its first box, or in the rows of both.
//
// Reads   order     one OrderParams
//         counts    written
//         pairs     [written] (a, b), each once, in any order
// Changes offsets   [row_count + 1] zeros, to the size of row i at place i + 1
//
// One invocation per four pairs (order_runs.wgsl). Source: rows by counting, as in a counting sort, Knuth, The Art of
// Computer Programming 3, 5.2.

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
    let first = 4u * (group_index(group, groups) * 256u + local);
    if first >= counts.written {
        return;
    }
    let four = four_pairs(first);
    count(four.rows.x, four.lengths.x);
    count(four.rows.y, four.lengths.y);
    count(four.rows.z, four.lengths.z);
    count(four.rows.w, four.lengths.w);
    if order.ways == 2u {
        count(four.others.x, u32(four.is_there.x));
        count(four.others.y, u32(four.is_there.y));
        count(four.others.z, u32(four.is_there.z));
        count(four.others.w, u32(four.is_there.w));
    }
}

// Adds `length` to the size of a row, if `length` is not 0.
fn count(row: u32, length: u32) {
    if length > 0u {
        atomicAdd(&offsets[row + 1u], length);
    }
}
