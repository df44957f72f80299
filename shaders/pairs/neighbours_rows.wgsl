// neighbours_rows: where the neighbours of each box begin.
//
// Reads   counts      written
//         pairs       [written] (a, b), in canonical order
//         keys        [written] their b, ascending
// Writes  offsets     [boxes + 1] neighbours of all boxes before
//         pairs_from  [boxes + 1] pairs (a, b) with an a before
// A box is a neighbour as the b of pairs, and as the a: what comes before a box is as much as there are smaller ones of both,
// and both lists are sorted. An invocation per box; the places of a workgroup's boxes lie between those of its ends.
// Source: rows of a sorted list by bisection, as for sparse matrices in Bell and Garland 2009.

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> pairs_from: array<u32>;

// The places of the first box of the workgroup and of the one behind its last, in either list.
var<workgroup> ends: array<u32, 4>;

// Returns the box that a pair counts for: as its a, or as the b of the sorted keys.
fn box_at(place: u32, is_key: bool) -> u32 {
    if is_key {
        return keys[place];
    }
    return pairs[place].x;
}

// Returns how many of a list are below `i`, of which so many are known.
fn count_below(i: u32, is_key: bool, known: u32, most: u32) -> u32 {
    var first = known;
    var end = most;
    while first < end {
        let middle = first + (end - first) / 2u;
        if box_at(middle, is_key) < i {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}

@compute @workgroup_size(256)
fn neighbours_rows(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let start = group_index(group, groups) * 256u;
    let written = counts.written;
    if local < 4u {
        ends[local] = count_below(start + 256u * (local & 1u), local >= 2u, 0u, written);
    }
    workgroupBarrier();
    let i = start + local;
    if i < arrayLength(&offsets) {
        let from_here = count_below(i, false, ends[0], ends[1]);
        offsets[i] = from_here + count_below(i, true, ends[2], ends[3]);
        pairs_from[i] = from_here;
    }
}
