// tree_ranges: finds the range of leaves of each world.
//
// Reads   tree
//         keys     [box_count] the number of each leaf's world, ascending
// Writes  ranges   [world_count + 2] the first leaf of each world, of the global boxes, and their end
//
// One invocation per range. It finds the range by a binary search.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read_write> ranges: array<u32>;

@compute @workgroup_size(256)
fn tree_ranges(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let world = group_index(group, groups) * 256u + local;
    if world >= tree.world_count + 2u {
        return;
    }
    var first = 0u;
    var end = tree.box_count;
    while first < end {
        let middle = first + (end - first) / 2u;
        if keys[middle] < world {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    ranges[world] = first;
}
