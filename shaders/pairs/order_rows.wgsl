// order_rows: computes the begin of each row.
//
// Reads   order      one OrderParams
//         row_sums   of order_sums
// Changes offsets    [row_count + 1] the size of row i at place i + 1, to its begin
// Writes  tile_rows  [elements / ORDER_TILE] rounded up, the row of the first element of each tile
//
// One workgroup per ORDER_ROWS rows; each invocation processes four consecutive rows. The tiles that begin in these
// rows are divided evenly among the invocations, since rows have different lengths. An invocation finds the row of a
// tile by a search in workgroup memory.
//
// Source: sums by one kernel, prefixes by the next: Sengupta, Harris, Zhang, Owens 2007, Scan primitives for GPU
// computing.

@group(0) @binding(0) var<uniform> order: OrderParams;
@group(0) @binding(1) var<storage, read> row_sums: array<u32>;
@group(0) @binding(2) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(3) var<storage, read_write> tile_rows: array<u32>;

// The begins of the workgroup's rows; after the last row, the end of all elements.
var<workgroup> begins: array<u32, ORDER_ROWS>;

@compute @workgroup_size(256)
fn order_rows(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * ORDER_ROWS + local * ORDER_ROW_RUN;
    let end = min(first + ORDER_ROW_RUN, order.row_count);
    var sizes = 0u;
    for (var i = first; i < end; i += 1u) {
        sizes += offsets[i + 1u];
    }
    // A two-dimensional dispatch may have workgroups after the last tile.
    let sums_end = min(tile, div_ceil(order.row_count, ORDER_ROWS));
    var earlier = 0u;
    for (var i = local; i < sums_end; i += 256u) {
        earlier += row_sums[i];
    }
    let scan = scan_workgroup2(local, vec2<u32>(sizes, earlier));
    var begin = scan.total.y + scan.before.x;
    for (var k = 0u; k < ORDER_ROW_RUN; k += 1u) {
        begins[local * ORDER_ROW_RUN + k] = begin;
        if first + k < order.row_count {
            let size = offsets[first + k + 1u];
            offsets[first + k + 1u] = begin;
            begin += size;
        }
    }
    workgroupBarrier();
    let behind = scan.total.y + scan.total.x;
    for (var k = div_ceil(scan.total.y, ORDER_TILE) + local; k * ORDER_TILE < behind; k += 256u) {
        tile_rows[k] = tile * ORDER_ROWS + row_at(k * ORDER_TILE);
    }
}

// Returns the row of the workgroup with this element: the last row that begins at or before the element.
fn row_at(element: u32) -> u32 {
    var row = 0u;
    for (var half = ORDER_ROWS / 2u; half > 0u; half /= 2u) {
        row += select(0u, half, begins[row + half] <= element);
    }
    return row;
}
