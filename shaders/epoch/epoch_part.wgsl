// epoch_part: which of the pairs that were found have a box that escaped (IS_FRESH); or which of those of boxes that escaped before
// have none.
//
// Reads   epoch        IS_FRESH: found, otherwise apart
//         states       which boxes escaped in this step
//         pairs        [found] or [apart]
//         searched_ids   of what is found: the slot of each box, where they were searched one behind the other (IS_PACKED)
// Writes  stays        [tiles * 32] a bit for each pair that stays
//         kept_tiles   [tiles] how many of each tile
// A workgroup per EVENT_TILE pairs; an invocation takes four in a row.

override IS_FRESH: bool = false;
override IS_PACKED: bool = false;

@group(0) @binding(0) var<storage, read> epoch: Epoch;
@group(0) @binding(1) var<storage, read> states: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> stays: array<u32>;
@group(0) @binding(4) var<storage, read_write> kept_tiles: array<u32>;
@group(0) @binding(5) var<storage, read> searched_ids: array<u32>;

@compute @workgroup_size(256)
fn epoch_part(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * EVENT_TILE + local * EVENT_RUN;
    let count = select(epoch.apart, epoch.found, IS_FRESH);
    var bits = 0u;
    for (var i = first; i < min(first + EVENT_RUN, count); i += 1u) {
        let pair = pair_of_slots(pairs[i]);
        let is_fresh = has_escaped(pair.x) || has_escaped(pair.y);
        bits |= select(0u, 1u << (i - first), is_fresh == IS_FRESH);
    }
    note_stays(tile, local, count, bits);
}
