// tree_leaves: the boxes in the order of the leaves.
//
// Reads   tree
//         ids      [box_count] the box of each place among the leaves
//         boxes    [box_count * 3] bits of f32, two at a time
// Writes  nodes    behind all nodes the boxes, and behind these their ids, both filled up to eights
//         places   [box_count] the place of each box; the highest bit says that it is invalid
// An invocation for each place.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> nodes: array<u32>;
@group(0) @binding(4) var<storage, read_write> places: array<u32>;

@compute @workgroup_size(256)
fn tree_leaves(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= 8u * node_count(0u) {
        return;
    }
    var low = vec3<u32>(INFINITY);
    var high = vec3<u32>(MINUS_INFINITY);
    var id = NO_BOX;
    if i < tree.box_count {
        id = ids[i];
        let min_bits = min_bits_of(id);
        let max_bits = max_bits_of(id);
        if kind_of(min_bits, max_bits) != KIND_INVALID {
            low = min_bits;
            high = max_bits;
            places[id] = i;
        } else {
            places[id] = i | 0x80000000u;
        }
    }
    let at = 4u * tree.first_box + 6u * i;
    nodes[at] = low.x;
    nodes[at + 1u] = low.y;
    nodes[at + 2u] = low.z;
    nodes[at + 3u] = high.x;
    nodes[at + 4u] = high.y;
    nodes[at + 5u] = high.z;
    nodes[4u * tree.first_id + i] = id;
}
