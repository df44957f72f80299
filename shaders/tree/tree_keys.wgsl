// tree_keys: where each box goes in the order of the leaves: those of usual size along the curve, then enormous ones along
// it, unbounded ones, invalid ones.
//
// Reads   tree
//         cube     of tree_cube
//         boxes    [box_count * 3] bits of f32, two at a time
// Writes  keys     [box_count] PLACE_BITS bits: the place of the box; of one that is not of usual size, behind all
//                  others, its class and the upper bits of its place
//         values   [box_count] the box
// Enormous boxes have a range of their own, so that they do not spoil the nodes of others.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> cube: Cube;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;

// Bits of the place of a box that is not of usual size.
const OTHER_BITS: u32 = 13u;
// The first key of such a box. Places of boxes of usual size are squeezed to make room for them: of so many in a row, 2^SQUEEZE, two
// have one key, everywhere along the curve.
const FIRST_OTHER: u32 = (1u << PLACE_BITS) - (3u << OTHER_BITS);
const SQUEEZE: u32 = 12u;

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
    let of_others = FIRST_OTHER + ((kind - 1u) << OTHER_BITS) + (place >> (PLACE_BITS - OTHER_BITS));
    keys[i] = select(of_others, place - (place >> SQUEEZE), kind == 0u);
    values[i] = i;
}
