// epoch_apart: which of the pairs of boxes that have left since the epoch began overlap as the boxes are now.
//
// Reads   params
//         epoch        apart
//         pairs        [apart] of grown boxes
//         boxes        [box_count * 3] bits of f32, two at a time
//         filters      half-spaces, if there are any
// Writes  stays        [tiles * 32] a bit for each pair that overlaps
//         kept_tiles   [tiles] how many of each tile
// A workgroup per EVENT_TILE pairs; an invocation takes four in a row.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> stays: array<u32>;
@group(0) @binding(5) var<storage, read_write> kept_tiles: array<u32>;

@compute @workgroup_size(256)
fn epoch_apart(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * EVENT_TILE + local * EVENT_RUN;
    var bits = 0u;
    for (var i = first; i < min(first + EVENT_RUN, epoch.apart); i += 1u) {
        bits |= select(0u, 1u << (i - first), do_meet(pairs[i]));
    }
    note_stays(tile, local, epoch.apart, bits);
}
