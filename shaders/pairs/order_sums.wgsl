// order_sums: adds up the sizes of each ORDER_ROWS rows.
//
// Reads   order      one OrderParams
//         offsets    [row_count + 1] of order_count
// Writes  row_sums   [row_count / ORDER_ROWS] rounded up
//
// One workgroup per sum.

@group(0) @binding(0) var<uniform> order: OrderParams;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read_write> row_sums: array<u32>;

@compute @workgroup_size(256)
fn order_sums(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    var sum = 0u;
    for (var i = tile * ORDER_ROWS + local; i < min((tile + 1u) * ORDER_ROWS, order.row_count); i += 256u) {
        sum += offsets[i + 1u];
    }
    let scan = scan_workgroup(local, sum);
    if local == 0u && tile * ORDER_ROWS < order.row_count {
        row_sums[tile] = scan.total;
    }
}
