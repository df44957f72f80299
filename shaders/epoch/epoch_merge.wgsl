// epoch_merge: the pairs of boxes that have left since the epoch began: those of which no box left in this step, and those that were
// found.
//
// Reads   epoch    rest, fresh
//         rest     [rest] in canonical order
//         fresh    [fresh] in canonical order, none of which is in the other list
// Writes  apart    [rest + fresh] both, in canonical order
// A workgroup per EVENT_TILE pairs of both lists, one behind the other. The place of a pair is its own and the number of pairs
// of the other list before it.
// Source: that of events_find.

@group(0) @binding(0) var<storage, read> epoch: Epoch;
@group(0) @binding(1) var<storage, read> rest: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> fresh: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> apart: array<vec2<u32>>;

const REST: u32 = 0u;
const FRESH: u32 = 1u;

// Of either list, the places in the other one between which the pairs of the workgroup come.
var<workgroup> ends: array<u32, 4>;

fn pair_at(list: u32, i: u32) -> vec2<u32> {
    if list == REST {
        return rest[i];
    }
    return fresh[i];
}

@compute @workgroup_size(256)
fn epoch_merge(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups) * EVENT_TILE;
    let rest_count = epoch.rest;
    let fresh_count = epoch.fresh;
    let end = min(tile + EVENT_TILE, rest_count + fresh_count);
    if local < 4u {
        // The first and the last pair of each list in this tile, if there are any.
        let list = local / 2u;
        let first = select(tile, max(tile, rest_count), list == FRESH);
        let behind = select(min(end, rest_count), end, list == FRESH);
        var place = 0u;
        if first < behind {
            let i = select(first, behind - 1u, local % 2u == 1u) - select(0u, rest_count, list == FRESH);
            place = first_not_below(1u - list, pair_at(list, i), 0u, select(fresh_count, rest_count, list == FRESH));
        }
        ends[local] = place;
    }
    workgroupBarrier();
    for (var i = tile + local; i < end; i += 256u) {
        let list = select(FRESH, REST, i < rest_count);
        let own = i - select(0u, rest_count, list == FRESH);
        let pair = pair_at(list, own);
        apart[own + first_not_below(1u - list, pair, ends[2u * list], ends[2u * list + 1u])] = pair;
    }
}
