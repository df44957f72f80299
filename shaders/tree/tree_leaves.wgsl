// tree_leaves: the boxes to their places among the leaves, and which are invalid.
//
// Reads   tree
//         boxes     [box_count * 3] bits of f32, two at a time
//         places    [box_count] the place of each box, of tree_places
// Changes invalid   [box_count / 256, rounded up, and one] from 0 to how many of each 256 boxes are invalid, and in the end whether
//                   any is
// Writes  nodes     behind all nodes the boxes, in the order of the leaves
// An invocation for each box. What is loaded lies in a row, and what lies anywhere is stored: in software that takes less time than to wait
// for a load. On a GPU tree_bottom takes its place.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> nodes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read_write> invalid: array<atomic<u32>>;

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
    var loaded = load_box(i);
    if kind_of(loaded.min, loaded.max) == KIND_INVALID {
        loaded = LoadedBox(vec3<u32>(INFINITY), vec3<u32>(MINUS_INFINITY));
        count_invalid(i);
    }
    let at = 2u * tree.first_box + 3u * places[i];
    nodes[at] = loaded.min.xy;
    nodes[at + 1u] = vec2<u32>(loaded.min.z, loaded.max.x);
    nodes[at + 2u] = loaded.max.yz;
}
