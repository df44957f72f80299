// sort_tally: how often each digit occurs in each tile of keys.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
//         keys_in      [n], four at a time
// Writes  histograms   [tiles * digits], tile by tile, within a tile digit by digit
// sort_count with as few invocations as sort_wide has: software adapters pay for each of them at every barrier.
// Source: as that of sort_wide.

@compute @workgroup_size(WIDE_LANES)
fn sort_tally(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    count_tile(group_index(group, groups), local, WIDE_LANES);
}
