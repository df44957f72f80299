// The layout of the nodes of a tree. Shared by the kernels that build it and the kernels that query it.
//
// The leaves, of eight boxes each, are level 0. A node of a higher level bounds eight consecutive nodes of the level
// below. The bounds of its eight children are stored as steps from an origin along each axis, rounded outward. A step
// is a power of two, and the origin a multiple of it, so that bounds are exact in f32. A node takes four vec4:
//
//   the origin in bits of f32, and four bytes: the exponent in f32 of the step along each axis; a bit for each child
//   that is vast: infinite along some axis; all bits if the node is larger than usual; for each axis, a byte each: the
//   lower bounds of four children, of the other four, then the upper bounds
//
// Finite bounds are steps 1 to 254. A lower bound of 0 is minus infinity, an upper bound of 255 is infinity. A missing
// child or an invalid box has the lower bound 255 and the upper bound 0 along each axis. Source: Ylitie, Karras, Laine
// 2017, Efficient incoherent ray traversal on GPUs through compressed wide BVHs.
//
// After all nodes follow the boxes in the order of the leaves, six words each, then their ids.

const NODE_VECTORS: u32 = 4u;
const MINUS_INFINITY: u32 = 0xff800000u;
// Steps of finite bounds.
const FIRST_STEP: u32 = 1u;
const LAST_STEP: u32 = 254u;
// The first step of a missing child.
const ABOVE_ALL: u32 = 255u;
const BELOW_ALL: u32 = 0u;

// A box, in bits of f32.
struct BoxBits {
    low: vec3<u32>,
    high: vec3<u32>,
}

// Returns the step size of a node along each axis.
fn step_sizes(head: vec4<u32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(((vec3<u32>(head.w) >> vec3<u32>(0u, 8u, 16u)) & vec3<u32>(0xffu)) << vec3<u32>(23u));
}

// Returns a bit per child: set if it is vast.
fn vast_children(head: vec4<u32>) -> u32 {
    return head.w >> 24u;
}

fn bytes_of(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu);
}

// Converts steps along each axis to bounds.
fn bounds_of(head: vec4<u32>, low: vec3<u32>, high: vec3<u32>) -> BoxBits {
    let origin = bitcast<vec3<f32>>(head.xyz);
    let size = step_sizes(head);
    return BoxBits(
        select(bitcast<vec3<u32>>(origin + vec3<f32>(low) * size), vec3<u32>(MINUS_INFINITY), low == vec3<u32>(0u)),
        select(bitcast<vec3<u32>>(origin + vec3<f32>(high) * size), vec3<u32>(INFINITY), high == vec3<u32>(255u)),
    );
}

// Returns whether a box is missing or invalid.
fn is_none(own: BoxBits) -> bool {
    return own.low.x == INFINITY && own.high.x == MINUS_INFINITY;
}

// Packs four flags.
fn bits_of(flags: vec4<bool>) -> u32 {
    let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), flags);
    return (bits.x | bits.y) | (bits.z | bits.w);
}
