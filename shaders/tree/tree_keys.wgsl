// tree_keys: where each box goes in the order of the leaves: those of usual size along the curve, then enormous ones along
// it, unbounded ones, invalid ones.
//
// Reads   tree
//         cube     of tree_cube
//         boxes    [box_count * 3] bits of f32, two at a time
// Writes  keys     [box_count] the class of the box, and its place of 30 bits
//         values   [box_count] the box
// Enormous boxes have a range of their own, so that they do not spoil the nodes of others.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> cube: Cube;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;

@compute @workgroup_size(256)
fn tree_keys(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= tree.box_count {
        return;
    }
    let low = min_bits_of(i);
    let high = max_bits_of(i);
    let kind = class_of(low, high);
    var place = 0u;
    if kind < 2u {
        place = place_of(center_of(low, high), cube);
    }
    keys[i] = (kind << 30u) | place;
    values[i] = i;
}
