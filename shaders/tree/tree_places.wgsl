// tree_places: writes the place of each box among the leaves.
//
// Reads   tree
//         values   [box_count] the box of each place among the leaves
// Writes  nodes    behind all boxes their ids, filled up to a multiple of eight
//         places   [box_count] the place of each box
//
// One invocation per place.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> values: array<u32>;
@group(0) @binding(2) var<storage, read_write> nodes: array<u32>;
@group(0) @binding(3) var<storage, read_write> places: array<u32>;

@compute @workgroup_size(256)
fn tree_places(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = group_index(group, groups) * 256u + local;
    if place >= 8u * node_count(0u) {
        return;
    }
    var id = NO_BOX;
    if place < tree.box_count {
        id = values[place];
        places[id] = place;
    }
    nodes[4u * tree.first_id + place] = id;
}
