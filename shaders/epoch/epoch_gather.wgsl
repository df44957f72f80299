// epoch_gather: the boxes that are searched grown while an epoch goes on, one behind the other (IS_PACKED); or each in its slot, where
// filters go by the index of a box.
//
// Reads   epoch_params
//         fat           [slots * 3] the grown boxes
//         stays         [tiles * 32] a bit for each box that is searched
//         kept_tiles    [tiles] sums over the tiles before, of epoch_scan; IS_PACKED alone
// Writes  searched      those that are searched; not IS_PACKED: [slots * 3], with NaNs in place of the others
//         searched_ids  the slot of each; IS_PACKED alone
// A workgroup per EVENT_TILE slots; an invocation takes four in a row.

override IS_PACKED: bool = false;

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> fat: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> stays: array<u32>;
@group(0) @binding(3) var<storage, read> kept_tiles: array<u32>;
@group(0) @binding(4) var<storage, read_write> searched: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> searched_ids: array<u32>;

@compute @workgroup_size(256)
fn epoch_gather(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * EVENT_TILE + local * EVENT_RUN;
    let is_there = tile * EVENT_TILE < epoch_params.slots;
    var bits = 0u;
    if is_there {
        bits = run_of(stays[tile * 32u + local / 8u], local);
    }
    if !IS_PACKED {
        for (var i = first; i < min(first + EVENT_RUN, epoch_params.slots); i += 1u) {
            set_searched(i, fat_low(i), fat_high(i), ((bits >> (i - first)) & 1u) != 0u);
        }
        return;
    }
    var place = scan_workgroup(local, countOneBits(bits)).before;
    if is_there {
        place += kept_tiles[tile];
    }
    for (var k = 0u; k < EVENT_RUN; k += 1u) {
        if ((bits >> k) & 1u) != 0u {
            set_searched(place, fat_low(first + k), fat_high(first + k), true);
            searched_ids[place] = first + k;
            place += 1u;
        }
    }
}
