// tree_leaves: the boxes to their places among the leaves, and which are invalid.
//
// Reads   tree
//         boxes     [box_count * 3] bits of f32, two at a time
//         places    [box_count] the place of each box, of tree_places
// Changes invalid   [box_count / 256, rounded up] from 0 to how many of each 256 boxes are invalid
// Writes  nodes     behind all nodes the boxes, in the order of the leaves
// What is loaded lies in a row, and what lies anywhere is stored. To store takes less time than to wait for a load, and a tree that is
// fitted again needs no ids. With ON_GPU there are three invocations for each box, and each stores a third of it: neighbours store
// to the same sectors of memory together, and a GPU has a quarter as many stores to carry out. In software an invocation stores all of a box.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> nodes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read_write> invalid: array<atomic<u32>>;

override ON_GPU: bool = false;

@compute @workgroup_size(256)
fn tree_leaves(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let own = group_index(group, groups) * 256u + local;
    let i = select(own, own / 3u, ON_GPU);
    if i >= tree.box_count {
        return;
    }
    var loaded = load_box(i);
    let part = select(0u, own % 3u, ON_GPU);
    let is_invalid = kind_of(loaded.min, loaded.max) == KIND_INVALID;
    if is_invalid {
        loaded = LoadedBox(vec3<u32>(INFINITY), vec3<u32>(MINUS_INFINITY));
    }
    let at = 2u * tree.first_box + 3u * places[i];
    let first = loaded.min.xy;
    let middle = vec2<u32>(loaded.min.z, loaded.max.x);
    let last = loaded.max.yz;
    if ON_GPU {
        nodes[at + part] = select(select(last, middle, part == 1u), first, part == 0u);
    } else {
        nodes[at] = first;
        nodes[at + 1u] = middle;
        nodes[at + 2u] = last;
    }
    if is_invalid && part == 0u {
        atomicAdd(&invalid[i / 256u], 1u);
    }
}
