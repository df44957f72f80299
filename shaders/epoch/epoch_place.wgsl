// epoch_place: the pairs of a step that are kept, each behind those of the other list that come before it.
//
// Reads   epoch_params
//         epoch          kept
//         pairs          [kept] of grown boxes, in canonical order
//         stays          [kept] a bit for each pair that overlaps
//         ranks          of epoch_count
//         kept_tiles     [tiles] sums, of epoch_scan
//         between_tiles  the same
//         apart_result   [result_apart] the pairs of the other list that overlap, in canonical order
// Writes  listed         the pairs of the step, but for those of the other list, as far as there is room
// An invocation per EVENT_RUN pairs. Most often none of the other list come between them, or one.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> stays: array<u32>;
@group(0) @binding(4) var<storage, read> ranks: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> kept_tiles: array<u32>;
@group(0) @binding(6) var<storage, read> between_tiles: array<u32>;
@group(0) @binding(7) var<storage, read> apart_result: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> listed: array<vec2<u32>>;

fn pair_at(list: u32, i: u32) -> vec2<u32> {
    return apart_result[i];
}

@compute @workgroup_size(256)
fn epoch_place(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group_index(group, groups) * 256u + local) * EVENT_RUN;
    if first >= epoch.kept {
        return;
    }
    let stays_here = stays[first / 32u];
    var bits = (stays_here >> (first % 32u)) & ((1u << EVENT_RUN) - 1u);
    if bits == 0u {
        return;
    }
    let own = ranks[first / 32u];
    var rank = kept_tiles[first / EVENT_TILE] + own.x + countOneBits(stays_here & ((1u << (first % 32u)) - 1u));
    var before = between_tiles[first / EVENT_TILE] + own.y;
    let end = before + own.z;
    while bits != 0u {
        let pair = pairs[first + firstTrailingBit(bits)];
        before = first_not_below(0u, pair, before, end);
        if rank + before < epoch_params.list_capacity {
            listed[rank + before] = pair;
        }
        rank += 1u;
        bits &= bits - 1u;
    }
}
