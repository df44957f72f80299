// tree_leaves: the boxes to their places among the leaves.
//
// Reads   tree
//         boxes    [box_count * 3] bits of f32, two at a time
// Changes places   [box_count] the place of each box, of tree_places or of the fit before; its highest bit says from now on whether
//                  the box is invalid
// Writes  nodes    behind all nodes the boxes, in the order of the leaves
// An invocation for each box: what is loaded lies in a row, and what lies anywhere is stored. To store takes less time than to wait for
// a load, and a tree that is fitted again needs no ids.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> nodes: array<u32>;
@group(0) @binding(3) var<storage, read_write> places: array<u32>;

@compute @workgroup_size(256)
fn tree_leaves(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= tree.box_count {
        return;
    }
    let own = load_box(i);
    let is_invalid = kind_of(own.min, own.max) == KIND_INVALID;
    let low = select(own.min, vec3<u32>(INFINITY), is_invalid);
    let high = select(own.max, vec3<u32>(MINUS_INFINITY), is_invalid);
    let place = places[i] & ~INVALID_PLACE;
    places[i] = place | select(0u, INVALID_PLACE, is_invalid);
    let at = 4u * tree.first_box + 6u * place;
    nodes[at] = low.x;
    nodes[at + 1u] = low.y;
    nodes[at + 2u] = low.z;
    nodes[at + 3u] = high.x;
    nodes[at + 4u] = high.y;
    nodes[at + 5u] = high.z;
}
