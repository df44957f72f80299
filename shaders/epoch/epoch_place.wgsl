// epoch_place: the pairs of a step that are kept, each behind those of the other list that come before it.
//
// Reads   epoch_params
//         epoch         tiles, kept, result_apart
//         pairs         [kept] of grown boxes, in canonical order
//         stays         [tiles * 32] a bit for each pair that overlaps
//         kept_tiles    [tiles] sums, of epoch_scan
//         apart_result  [result_apart] the pairs of the other list that overlap, in canonical order
// Writes  listed        the pairs of the step, but for those of the other list, as far as there is room
// A workgroup per EVENT_TILE pairs; an invocation takes four in a row. The pairs of the other list that come between them are fewer
// where little has left: each of these is looked up among the pairs of the workgroup, and counted for the four that it comes before.
// Source: that of events_find.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> stays: array<u32>;
@group(0) @binding(4) var<storage, read> kept_tiles: array<u32>;
@group(0) @binding(5) var<storage, read> apart_result: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> listed: array<vec2<u32>>;

const APART: u32 = 0u;
const KEPT: u32 = 1u;

// The places in the other list between which the pairs of the workgroup come.
var<workgroup> ends: array<u32, 2>;
// How many pairs of the other list come before a pair of each four, and not before the four in front of them.
var<workgroup> between: array<atomic<u32>, 256>;

fn pair_at(list: u32, i: u32) -> vec2<u32> {
    if list == APART {
        return apart_result[i];
    }
    return pairs[i];
}

@compute @workgroup_size(256)
fn epoch_place(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * EVENT_TILE;
    let end = min(first + EVENT_TILE, epoch.kept);
    atomicStore(&between[local], 0u);
    if local < 2u {
        var place = 0u;
        if tile < epoch.tiles && epoch.result_apart != 0u {
            place = first_not_below(APART, pairs[select(first, end - 1u, local == 1u)], 0u, epoch.result_apart);
        }
        ends[local] = place;
    }
    workgroupBarrier();
    for (var i = ends[0] + local; i < ends[1]; i += 256u) {
        let place = first_not_below(KEPT, apart_result[i], first, end);
        atomicAdd(&between[(place - first) / EVENT_RUN], 1u);
    }
    workgroupBarrier();
    var bits = 0u;
    var rank = 0u;
    if tile < epoch.tiles {
        bits = run_of(stays[tile * 32u + local / 8u], local);
        rank = kept_tiles[tile];
    }
    let own = atomicLoad(&between[local]);
    let scan = scan_workgroup2(local, vec2<u32>(countOneBits(bits), own));
    rank += scan.before.x;
    var before = ends[0] + scan.before.y;
    let high = before + own;
    for (var k = 0u; k < EVENT_RUN; k += 1u) {
        if ((bits >> k) & 1u) != 0u {
            let pair = pairs[first + local * EVENT_RUN + k];
            // Most often there are none, or one.
            if high - before > EVENT_RUN {
                before = first_not_below(APART, pair, before, high);
            }
            while before < high && is_below(apart_result[before], pair) {
                before += 1u;
            }
            if rank + before < epoch_params.list_capacity {
                listed[rank + before] = pair;
            }
            rank += 1u;
        }
    }
}
