// epoch_between: how many pairs of boxes that have left come between those that are kept.
//
// Reads   epoch         kept, result_apart
//         pairs         [kept] of grown boxes, in canonical order
//         apart_result  [result_apart] the pairs of the other list that overlap, in canonical order
// Changes between       [kept / 32, rounded up] how many come before a pair of each 32, and not before one of the 32 in front of them;
//                       zero at first
// An invocation per pair of the other list.
// Source: that of events_find.

@group(0) @binding(0) var<storage, read> epoch: Epoch;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> apart_result: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> between: array<atomic<u32>>;

fn pair_at(list: u32, i: u32) -> vec2<u32> {
    return pairs[i];
}

@compute @workgroup_size(256)
fn epoch_between(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= epoch.result_apart {
        return;
    }
    let place = first_not_below(0u, apart_result[i], 0u, epoch.kept);
    // Behind the last one they are behind all.
    if place < epoch.kept {
        atomicAdd(&between[place / 32u], 1u);
    }
}
