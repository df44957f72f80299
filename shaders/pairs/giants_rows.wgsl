// giants_rows: the bounds of rows of boxes, where there are many giants, and which giants meet those of 256 rows.
//
// Reads   params, counts
//         boxes        [box_count * 3] bits of f32, two at a time
//         entries      [entry_count], giants [giant_count]
// Writes  row_bounds   [rows * 3] bounds of each row (rows_of_boxes.wgsl), ordered, two at a time; of an empty one below each other
//         hit_words    behind those of giants_join: [tiles] a bit for each giant of a group that may meet boxes of the tile, as far as
//                      there is room
// A workgroup per 256 rows.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> giants: array<u32>;
@group(0) @binding(5) var<storage, read_write> row_bounds: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> hit_words: array<u32>;

// The bounds of all rows of the workgroup: low x, y, z, high x, y, z.
var<workgroup> of_all: array<atomic<i32>, 6>;

@compute @workgroup_size(256)
fn giants_rows(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if local < 6u {
        atomicStore(&of_all[local], select(NO_HIGH, NO_LOW, local < 3u));
    }
    workgroupBarrier();
    let row_tile = group_index(group, groups);
    let row = row_tile * 256u + local;
    if row < row_count() {
        let own = bound_row(row);
        for (var k = 0u; k < 3u; k += 1u) {
            atomicMin(&of_all[k], own.min[k]);
            atomicMax(&of_all[k + 3u], own.max[k]);
        }
    }
    workgroupBarrier();
    let low = vec3<i32>(atomicLoad(&of_all[0]), atomicLoad(&of_all[1]), atomicLoad(&of_all[2]));
    let high = vec3<i32>(atomicLoad(&of_all[3]), atomicLoad(&of_all[4]), atomicLoad(&of_all[5]));
    let row_tiles = div_ceil(row_count(), 256u);
    let giant_groups = select(0u, div_ceil(counts.giant_count, GIANT_GROUP), row_tile < row_tiles);
    for (var nth = local; nth < giant_groups; nth += 256u) {
        let tile = nth * row_tiles + row_tile;
        if tile < params.giant_tile_capacity {
            hit_words[params.giant_tile_capacity * 256u + tile] = giants_near(nth * GIANT_GROUP, ALL_OF_GROUP, OrderedBox(low, high));
        }
    }
}

// Writes the bounds of a row, and returns them.
fn bound_row(row: u32) -> OrderedBox {
    var low = vec3<i32>(NO_LOW);
    var high = vec3<i32>(NO_HIGH);
    for (var k = 0u; k < GIANT_ROW; k += 1u) {
        let item = item_of(row, k);
        let own = ordered_box(item.index);
        low = select(low, min(low, own.min), item.is_there);
        high = select(high, max(high, own.max), item.is_there);
    }
    let low_bits = bitcast<vec3<u32>>(low);
    let high_bits = bitcast<vec3<u32>>(high);
    row_bounds[row * 3u] = low_bits.xy;
    row_bounds[row * 3u + 1u] = vec2<u32>(low_bits.z, high_bits.x);
    row_bounds[row * 3u + 2u] = high_bits.yz;
    return OrderedBox(low, high);
}
