// epoch_test: which of the pairs that are kept overlap as the boxes are now.
//
// Reads   params
//         epoch        mode, kept
//         states       which boxes moved, and which have left
//         pairs        [kept] of grown boxes
//         boxes        [box_count * 3] bits of f32, two at a time
//         filters      half-spaces, if there are any
//         stays        [kept] a bit for each pair that overlapped in the last step; none as the epoch begins
// Changes flips        [kept] a bit for each pair of which that is to change, zero at first: it is tested where a box moved, and all are as
//                      the epoch begins; those of boxes that have left do not overlap
// An invocation per EVENT_RUN pairs. Most bits do not change.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> states: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> stays: array<u32>;
@group(0) @binding(6) var<storage, read_write> flips: array<atomic<u32>>;

@compute @workgroup_size(256)
fn epoch_test(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group_index(group, groups) * 256u + local) * EVENT_RUN;
    let count = epoch.kept;
    if first >= count {
        return;
    }
    let begins = epoch.mode == EPOCH_BEGIN;
    let before = (stays[first / 32u] >> (first % 32u)) & ((1u << EVENT_RUN) - 1u);
    var bits = before;
    var tested = 0u;
    for (var i = first; i < min(first + EVENT_RUN, count); i += 1u) {
        let pair = pairs[i];
        let bit = 1u << (i - first);
        let states_of_a = states[pair.x / 32u] >> vec4<u32>(pair.x % 32u);
        let states_of_b = states[pair.y / 32u] >> vec4<u32>(pair.y % 32u);
        let either = (states_of_a | states_of_b) & vec4<u32>(1u);
        // The pairs of boxes that have left are in the other list.
        let is_here = either.z == 0u;
        bits &= ~select(bit, 0u, is_here);
        tested |= select(0u, bit, is_here && (begins || either.w != 0u));
    }
    // A loop of its own: most often no pair is tested, and software adapters pay for branches that none of their lanes takes.
    while tested != 0u {
        let bit = tested & (0u - tested);
        bits &= ~bit;
        bits |= select(0u, bit, do_meet(pairs[first + firstTrailingBit(tested)]));
        tested ^= bit;
    }
    if bits != before {
        atomicOr(&flips[first / 32u], (bits ^ before) << (first % 32u));
    }
}
