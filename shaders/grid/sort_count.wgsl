// sort_count: how often each digit occurs in each tile of keys.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
//         keys_in      [n], four at a time
// Writes  histograms   [tiles * digits], tile by tile, within a tile digit by digit
// First of the three steps of one stable radix pass: reduce, then scan, then scatter (Merrill and Grimshaw 2011).

@compute @workgroup_size(256)
fn sort_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    count_tile(group_index(group, groups), local, 256u);
}
