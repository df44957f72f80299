// epoch_put: puts the boxes that moved in their places, where the others are still those of the last step.
//
// Reads   moved_boxes   [1 + 7 * count] how many; of each its index, and the bits of its bounds
// Changes own_boxes     [slots * 3] the boxes of a step as they come: bits of f32, two at a time
// An invocation per box that moved. None is there twice.

@group(0) @binding(0) var<storage, read> moved_boxes: array<u32>;
@group(0) @binding(1) var<storage, read_write> own_boxes: array<vec2<u32>>;

@compute @workgroup_size(256)
fn epoch_put(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = group_index(group, groups) * 256u + local;
    if k >= moved_boxes[0] {
        return;
    }
    let at = 1u + 7u * k;
    let to = 3u * moved_boxes[at];
    for (var word = 0u; word < 3u; word += 1u) {
        own_boxes[to + word] = vec2<u32>(moved_boxes[at + 1u + 2u * word], moved_boxes[at + 2u + 2u * word]);
    }
}
