// epoch_look: which boxes moved, and which have left their grown boxes, as epoch_check finds them; of those alone of which the caller
// says that they may have moved. No other is looked at.
//
// Reads   params, epoch_params
//         moved_boxes   [1 + 7 * count] how many; of each its index, and the bits of its bounds
//         epoch         what is known of the epoch
//         filter_changes   [2]
// Changes last          [slots * 3] the boxes of the last step, to those of this one
//         fat           [slots * 3] the grown boxes
//         moves         [slots / 32, rounded up] of 32 slots, bits: moved, left in this step, 0, 0; zero at first
// An invocation per box that may have moved. None is there twice, and all are there: as many boxes as in the last step. Where there is no
// epoch, nothing is looked at.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> epoch_params: EpochParams;
@group(0) @binding(2) var<storage, read> moved_boxes: array<u32>;
@group(0) @binding(3) var<storage, read> epoch: Epoch;
@group(0) @binding(4) var<storage, read_write> last: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> fat: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> moves: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read> filter_changes: array<u32>;

@compute @workgroup_size(256)
fn epoch_look(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = group_index(group, groups) * 256u + local;
    if k >= moved_boxes[0] || !has_epoch() {
        return;
    }
    let at = 1u + 7u * k;
    let i = moved_boxes[at];
    let low = vec3<u32>(moved_boxes[at + 1u], moved_boxes[at + 2u], moved_boxes[at + 3u]);
    let high = vec3<u32>(moved_boxes[at + 4u], moved_boxes[at + 5u], moved_boxes[at + 6u]);
    let has_moved = any(last[i * 3u] != low.xy)
        | any(last[i * 3u + 1u] != vec2<u32>(low.z, high.x))
        | any(last[i * 3u + 2u] != high.yz);
    if has_moved {
        note_moved(i, low, high);
    }
}
