// tree_ranges: which leaves each world has.
//
// Reads   tree
//         keys     [box_count] the number of each leaf's world, ascending
// Writes  ranges   [world_count + 2] the first leaf of each world, of the global boxes, and their end
// An invocation for each leaf and one for the end: it writes for the worlds that begin at its leaf, which are those behind
// the world of the leaf before.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read_write> ranges: array<u32>;

@compute @workgroup_size(256)
fn tree_ranges(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i > tree.box_count {
        return;
    }
    var first = 0u;
    if i > 0u {
        first = keys[i - 1u] + 1u;
    }
    var end = tree.world_count + 2u;
    if i < tree.box_count {
        end = keys[i] + 1u;
    }
    for (var world = first; world < end; world += 1u) {
        ranges[world] = i;
    }
}
