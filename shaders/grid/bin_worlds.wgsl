// bin_worlds: finds the range of cells of each world, for its unbounded boxes.
//
// Reads   boxes          [box_count * 3] bits of f32, two at a time
//         frame          one Frame
//         filter_layout, filters: the worlds (filters.wgsl)
// Changes world_cells    [world_count] from zeros to the input of cells_of_world: maxima, so that no order matters
//
// An unbounded box, such as the floor of a world, would be tested as a giant against the boxes of all worlds. So
// bin_count places it in the cells of its world; each box that it can meet is in one of these cells. The kernel reads
// no boxes if all boxes of the scene have cells.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> frame: Frame;
@group(0) @binding(3) var<storage, read_write> world_cells: array<array<atomic<u32>, 4>>;

@compute @workgroup_size(256)
fn bin_worlds(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if frame.outside_count == 0u || i >= params.box_count {
        return;
    }
    let min_bits = min_bits_of(i);
    let max_bits = max_bits_of(i);
    let world = world_of(i);
    // The device may have more worlds than the host knew when it recorded the search.
    if world >= arrayLength(&world_cells) || kind_of(min_bits, max_bits) != KIND_FINITE || !is_within(min_bits, max_bits, frame.limit) {
        return;
    }
    let own = place_of(bitcast<vec3<f32>>(min_bits) * frame.scale, bitcast<vec3<f32>>(max_bits) * frame.scale).cells;
    atomicMax(&world_cells[world][0], u32(CELL_BASE - own.x));
    atomicMax(&world_cells[world][1], u32(CELL_BASE - own.y));
    atomicMax(&world_cells[world][2], u32(CELL_BASE + own.z));
    atomicMax(&world_cells[world][3], u32(CELL_BASE + own.w));
}
