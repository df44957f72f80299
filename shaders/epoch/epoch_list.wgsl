// epoch_list: the pairs that stay, in their order.
//
// Reads   epoch        tiles
//         pairs        those of epoch_part or epoch_apart
//         stays        [tiles * 32] a bit for each pair that stays
//         kept_tiles   [tiles] sums, of epoch_scan
//         searched_ids   the slot of each box, where they were searched one behind the other (IS_PACKED)
// Writes  listed       those that stay
// A workgroup per EVENT_TILE pairs; an invocation takes four in a row.

override IS_PACKED: bool = false;

@group(0) @binding(0) var<storage, read> epoch: Epoch;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> stays: array<u32>;
@group(0) @binding(3) var<storage, read> kept_tiles: array<u32>;
@group(0) @binding(4) var<storage, read_write> listed: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> searched_ids: array<u32>;

@compute @workgroup_size(256)
fn epoch_list(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    var bits = 0u;
    var place = 0u;
    if tile < epoch.tiles {
        bits = run_of(stays[tile * 32u + local / 8u], local);
        place = kept_tiles[tile];
    }
    place += scan_workgroup(local, countOneBits(bits)).before;
    for (var k = 0u; k < EVENT_RUN; k += 1u) {
        if ((bits >> k) & 1u) != 0u {
            listed[place] = pair_of_slots(pairs[tile * EVENT_TILE + local * EVENT_RUN + k]);
            place += 1u;
        }
    }
}
