// epoch_join: the pairs of a step of boxes that have left since the epoch began, each behind those that are kept and come before it.
//
// Reads   epoch_params
//         epoch         result, result_apart, kept
//         pairs         [kept] of grown boxes, in canonical order
//         stays         [kept] a bit for each pair that overlaps
//         ranks         of epoch_count
//         kept_tiles    [tiles] sums, of epoch_scan
//         apart_result  [result_apart] in canonical order
// Writes  listed        these pairs of the step, as far as there is room
// An invocation per pair.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> stays: array<u32>;
@group(0) @binding(4) var<storage, read> ranks: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> kept_tiles: array<u32>;
@group(0) @binding(6) var<storage, read> apart_result: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> listed: array<vec2<u32>>;

fn pair_at(list: u32, i: u32) -> vec2<u32> {
    return pairs[i];
}

@compute @workgroup_size(256)
fn epoch_join(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= epoch.result_apart {
        return;
    }
    let pair = apart_result[i];
    let place = first_not_below(0u, pair, 0u, epoch.kept);
    // Behind the last pair they are behind all.
    var rank = epoch.result - epoch.result_apart;
    if place < epoch.kept {
        let word = place / 32u;
        rank = kept_tiles[place / EVENT_TILE] + ranks[word].x + countOneBits(stays[word] & ((1u << (place % 32u)) - 1u));
    }
    if rank + i < epoch_params.list_capacity {
        listed[rank + i] = pair;
    }
}
