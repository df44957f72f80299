// epoch_mark: the cells of the boxes that escaped, as they are grown now.
//
// Reads   epoch_params, epoch
//         states    [slots / 32, rounded up] which boxes escaped
//         escape_tiles   [slots / EPOCH_TILE, rounded up] how many
//         fat       [slots * 3] the grown boxes
//         filters   the world of each box, if there are worlds
// Changes marks     [cell_mask / 32 + 1] a bit for each hash of a cell, zero at first; and one word: 1 if one of the boxes may
//                   meet boxes anywhere
// An invocation per slot, while an epoch goes on.
// Source: hashed cells, Teschner, Heidelberger, Mueller, Pomeranets, Gross 2003, Optimized spatial hashing for collision
// detection of deformable objects.

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read> epoch: Epoch;
@group(0) @binding(2) var<storage, read> states: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> escape_tiles: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> fat: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> marks: array<atomic<u32>>;

@compute @workgroup_size(256)
fn epoch_mark(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= epoch_params.slots || escape_tiles[i / EPOCH_TILE].x == 0u {
        return;
    }
    if !has_escaped(i) {
        return;
    }
    let cells = cells_of_box(fat_low(i), fat_high(i));
    let world = world_of(i);
    if cells.is_vast || world == WORLD_GLOBAL {
        atomicOr(&marks[epoch_params.cell_mask / 32u + 1u], 1u);
        return;
    }
    for (var z = cells.first.z; z <= cells.last.z; z += 1) {
        for (var y = cells.first.y; y <= cells.last.y; y += 1) {
            for (var x = cells.first.x; x <= cells.last.x; x += 1) {
                let parts = parts_of(vec3<i32>(x, y, z));
                let bit = bit_of_cell(parts.x ^ parts.y ^ parts.z, world);
                atomicOr(&marks[bit / 32u], 1u << (bit % 32u));
            }
        }
    }
}
