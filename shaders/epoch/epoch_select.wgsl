// epoch_select: the boxes that are searched grown while an epoch goes on: those that escaped, and those that may meet one of them.
//
// Reads   epoch_params, epoch
//         fat         [slots * 3] the grown boxes
//         states      [slots / 32, rounded up] which boxes escaped
//         marks       of epoch_mark
//         filters     the world of each box, if there are worlds
// Writes  stays       [tiles * 32] a bit for each box that is searched
//         kept_tiles  [tiles] how many of each tile
// A workgroup per EVENT_TILE slots, of which an invocation takes four.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> fat: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> states: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> marks: array<u32>;
@group(0) @binding(5) var<storage, read_write> stays: array<u32>;
@group(0) @binding(6) var<storage, read_write> kept_tiles: array<u32>;

@compute @workgroup_size(256)
fn epoch_select(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    clear_stays(local);
    for (var k = local; k < EVENT_TILE; k += 256u) {
        let i = tile * EVENT_TILE + k;
        if i < epoch_params.slots {
            if is_searched(i) {
                atomicOr(&tile_bits[k / 32u], 1u << (k % 32u));
            }
        }
    }
    write_stays(tile, local, epoch_params.slots);
}

// Tells whether a box escaped, or may meet one that did.
fn is_searched(i: u32) -> bool {
    let low = fat_low(i);
    let high = fat_high(i);
    if !is_there(low, high) {
        return false;
    }
    if marks[epoch_params.cell_mask / 32u + 1u] != 0u || has_escaped(i) {
        return true;
    }
    let cells = cells_of_box(low, high);
    let world = world_of(i);
    if cells.is_vast || world == WORLD_GLOBAL {
        return true;
    }
    var is_marked = false;
    if all(cells.last - cells.first < vec3<i32>(2)) {
        // As most: two cells a side at most, some of which are looked up twice.
        let first = parts_of(cells.first);
        let last = parts_of(cells.last);
        for (var corner = 0u; corner < 8u; corner += 1u) {
            let x = select(first.x, last.x, (corner & 1u) != 0u);
            let y = select(first.y, last.y, (corner & 2u) != 0u);
            let z = select(first.z, last.z, (corner & 4u) != 0u);
            let bit = bit_of_cell(x ^ y ^ z, world);
            is_marked |= ((marks[bit / 32u] >> (bit % 32u)) & 1u) != 0u;
        }
        return is_marked;
    }
    for (var z = cells.first.z; z <= cells.last.z; z += 1) {
        for (var y = cells.first.y; y <= cells.last.y; y += 1) {
            for (var x = cells.first.x; x <= cells.last.x; x += 1) {
                let parts = parts_of(vec3<i32>(x, y, z));
                let bit = bit_of_cell(parts.x ^ parts.y ^ parts.z, world);
                is_marked |= ((marks[bit / 32u] >> (bit % 32u)) & 1u) != 0u;
            }
        }
    }
    return is_marked;
}
