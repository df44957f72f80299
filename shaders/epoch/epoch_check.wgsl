// epoch_check: which boxes moved, and which have left their grown boxes, or soon will, which are grown anew where they are.
//
// Reads   params, epoch_params
//         boxes         [box_count * 3] bits of f32, two at a time
//         epoch         what is known of the epoch
//         filter_changes   [2]
// Changes last          [slots * 3] the boxes of the last step, to those of this one
//         fat           [slots * 3] the grown boxes
//         moves         [slots / 32, rounded up] of 32 slots, bits: moved, left in this step, is gone, 0; zero at first
// A workgroup per EPOCH_BLOCK slots, of which an invocation takes four. A box that is invalid has no pairs, and so stays where it
// was. One that is no longer there has left since the epoch began, and so have its pairs; it has no grown box, and nobody looks for
// what it meets. Where there is no epoch, nothing is looked at. A step in which one box leaves costs hardly less than one in which
// many do: so in one of EPOCH_PERIOD steps, all leave that would before the next such step.
// Source: the grown boxes of Box2D's dynamic tree, Catto 2019, Dynamic bounding volume hierarchies.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> epoch_params: EpochParams;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> epoch: Epoch;
@group(0) @binding(4) var<storage, read_write> last: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> fat: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> moves: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read> filter_changes: array<u32>;

@compute @workgroup_size(256)
fn epoch_check(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if !has_epoch() {
        return;
    }
    let first = group_index(group, groups) * EPOCH_BLOCK + local;
    var changed = 0u;
    for (var k = 0u; k < EPOCH_BLOCK / 256u; k += 1u) {
        changed |= select(0u, 1u << k, has_changed(first + 256u * k));
    }
    // A loop of its own: most boxes did not move, and software adapters pay for branches that none of their lanes takes.
    while changed != 0u {
        let i = first + 256u * firstTrailingBit(changed);
        changed &= changed - 1u;
        if i < params.box_count {
            let now = load_box(i);
            note_moved(i, now.min, now.max);
        } else {
            note_gone(i);
        }
    }
}

// Tells whether the box of a slot moved, or is gone.
fn has_changed(i: u32) -> bool {
    if i >= epoch_params.slots {
        return false;
    }
    if i >= params.box_count {
        return is_there(fat_low(i), fat_high(i));
    }
    return any(boxes[i * 3u] != last[i * 3u])
        | any(boxes[i * 3u + 1u] != last[i * 3u + 1u])
        | any(boxes[i * 3u + 2u] != last[i * 3u + 2u]);
}

// Takes note of a box that is gone.
fn note_gone(i: u32) {
    set_last(i, vec3<u32>(NO_BOUND), vec3<u32>(NO_BOUND));
    set_fat(i, vec3<u32>(NO_LOW), vec3<u32>(NO_HIGH));
    atomicOr(&moves[i / 32u * 4u], 1u << (i % 32u));
    atomicOr(&moves[i / 32u * 4u + 2u], 1u << (i % 32u));
}
