// tree_worlds: writes the world of each box, in the order along the curve, as sort keys.
//
// Reads   tree
//         filter_layout, filters    for the list of worlds
//         values   [box_count] the boxes along the curve
// Writes  keys     [box_count] the number of the box's world; global boxes come last

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> values: array<u32>;
@group(0) @binding(2) var<storage, read_write> keys: array<u32>;
@group(0) @binding(10) var<uniform> filter_layout: FilterLayout;
@group(0) @binding(11) var<storage, read> filters: array<u32>;

@compute @workgroup_size(256)
fn tree_worlds(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i < tree.box_count {
        keys[i] = min(filters[filter_layout.world + values[i]], tree.world_count);
    }
}
