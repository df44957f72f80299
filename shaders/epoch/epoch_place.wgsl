// epoch_place: the pairs of a step that are kept, each behind those of the other list that come before it.
//
// Reads   epoch_params
//         epoch         tiles, kept, result_apart
//         pairs         [kept] of grown boxes, in canonical order
//         stays         [tiles * 32] a bit for each pair that overlaps
//         kept_tiles    [tiles] sums, of epoch_scan
//         apart_result  [result_apart] the pairs of the other list that overlap, in canonical order
// Writes  listed        the pairs of the step, but for those of the other list, as far as there is room
// A workgroup per EVENT_TILE pairs; an invocation takes four in a row.
// Source: that of events_find.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> stays: array<u32>;
@group(0) @binding(4) var<storage, read> kept_tiles: array<u32>;
@group(0) @binding(5) var<storage, read> apart_result: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> listed: array<vec2<u32>>;

// The places in the other list between which the pairs of the workgroup come.
var<workgroup> ends: array<u32, 2>;

fn pair_at(list: u32, i: u32) -> vec2<u32> {
    return apart_result[i];
}

@compute @workgroup_size(256)
fn epoch_place(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * EVENT_TILE;
    if local < 2u {
        var place = 0u;
        if tile < epoch.tiles && epoch.result_apart != 0u {
            let last = min(first + EVENT_TILE, epoch.kept) - 1u;
            place = first_not_below(0u, pairs[select(first, last, local == 1u)], 0u, epoch.result_apart);
        }
        ends[local] = place;
    }
    var bits = 0u;
    var rank = 0u;
    if tile < epoch.tiles {
        bits = run_of(stays[tile * 32u + local / 8u], local);
        rank = kept_tiles[tile];
    }
    rank += scan_workgroup(local, countOneBits(bits)).before;
    // Behind the barriers of the scan.
    var before = ends[0];
    let high = ends[1];
    var is_first = true;
    for (var k = 0u; k < EVENT_RUN; k += 1u) {
        if ((bits >> k) & 1u) != 0u {
            let pair = pairs[first + local * EVENT_RUN + k];
            // By bisection for the first in the row, and a few steps from each to the next.
            if is_first {
                before = first_not_below(0u, pair, before, high);
                is_first = false;
            }
            while before < high && is_below(pair_at(0u, before), pair) {
                before += 1u;
            }
            if rank + before < epoch_params.list_capacity {
                listed[rank + before] = pair;
            }
            rank += 1u;
        }
    }
}
