// order_scatter: writes the other boxes of all pairs, row by row, in any order within a row.
//
// Reads   order     one OrderParams
//         counts    written
//         pairs     [written] (a, b), each once
// Changes offsets   [row_count + 1] the begin of row i at place i + 1, to its end: from then on, row i begins at
//                   place i
// Writes  others    [ways * written]
//
// One invocation per four pairs (order_runs.wgsl). The order within a row depends on the order of invocations;
// order_sort then sorts each row.

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
    let first = 4u * (group_index(group, groups) * 256u + local);
    if first >= counts.written {
        return;
    }
    // Reserve all places before any is used, so that the atomic operations overlap.
    let four = four_pairs(first);
    let x = place_of(four.rows.x, four.lengths.x);
    let y = place_of(four.rows.y, four.lengths.y);
    let z = place_of(four.rows.z, four.lengths.z);
    let w = place_of(four.rows.w, four.lengths.w);
    var places = vec4<u32>(x, y, z, w);
    places.y = select(places.x + 1u, places.y, four.lengths.y > 0u);
    places.z = select(places.y + 1u, places.z, four.lengths.z > 0u);
    places.w = select(places.z + 1u, places.w, four.lengths.w > 0u);
    put(places.x, four.others.x, four.is_there.x);
    put(places.y, four.others.y, four.is_there.y);
    put(places.z, four.others.z, four.is_there.z);
    put(places.w, four.others.w, four.is_there.w);
    if order.ways == 2u {
        let of_others = vec4<u32>(
            place_of(four.others.x, u32(four.is_there.x)),
            place_of(four.others.y, u32(four.is_there.y)),
            place_of(four.others.z, u32(four.is_there.z)),
            place_of(four.others.w, u32(four.is_there.w)),
        );
        put(of_others.x, four.rows.x, four.is_there.x);
        put(of_others.y, four.rows.y, four.is_there.y);
        put(of_others.z, four.rows.z, four.is_there.z);
        put(of_others.w, four.rows.w, four.is_there.w);
    }
}

// Writes an element to its place, if it exists.
fn put(place: u32, element: u32, is_there: bool) {
    if is_there {
        others[place] = element;
    }
}

// Reserves `length` places of a row, and returns the first.
fn place_of(row: u32, length: u32) -> u32 {
    if length == 0u {
        return 0u;
    }
    return atomicAdd(&offsets[row + 1u], length);
}
