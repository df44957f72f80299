// The nodes of a tree. Shared by the kernels that build it and those that answer queries.
//
// Level 0 are the leaves: eight boxes each. A node of any other level bounds eight nodes in a row of the level below.
// The bounds of its eight children are steps from an origin along each axis, rounded outward. A step is a power of two and the
// origin a multiple of it, so that all of it is exact in f32. A node takes four vec4:
//
//   the origin in bits of f32, and three bytes: the exponent in f32 of the step along each axis;
//   for each axis, a byte each: the lower bounds of four children, of the other four, then the upper bounds
//
// Finite bounds are steps 1 to 254. A lower bound of 0 is minus infinity, an upper bound of 255 is infinity. A child that is not
// there, or an invalid box, has the lower bound 255 and the upper bound 0 along each axis.
// Source: Ylitie, Karras, Laine 2017, Efficient incoherent ray traversal on GPUs through compressed wide BVHs.
//
// Behind all nodes lies the box of each place among the leaves, six words each, and behind those its id.

const NODE_VECTORS: u32 = 4u;
const MINUS_INFINITY: u32 = 0xff800000u;
const INFINITY: u32 = 0x7f800000u;
// Steps of finite bounds.
const FIRST_STEP: u32 = 1u;
const LAST_STEP: u32 = 254u;
// Steps of no bounds.
const ABOVE_ALL: u32 = 255u;
const BELOW_ALL: u32 = 0u;

// A box, in bits of f32.
struct BoxBits {
    low: vec3<u32>,
    high: vec3<u32>,
}

// Bounds of four children along an axis, in bits of f32.
struct Slabs {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn step_size(head: vec4<u32>, k: u32) -> f32 {
    return bitcast<f32>(((head.w >> (8u * k)) & 0xffu) << 23u);
}

fn bytes_of(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu);
}

// Returns the bounds of four children along axis `k` of a node that begins with `head`.
fn slabs_of(head: vec4<u32>, k: u32, low: u32, high: u32) -> Slabs {
    let origin = vec4<f32>(bitcast<f32>(head[k]));
    let size = step_size(head, k);
    let lows = bytes_of(low);
    let highs = bytes_of(high);
    return Slabs(
        select(bitcast<vec4<u32>>(origin + vec4<f32>(lows) * size), vec4<u32>(MINUS_INFINITY), lows == vec4<u32>(0u)),
        select(bitcast<vec4<u32>>(origin + vec4<f32>(highs) * size), vec4<u32>(INFINITY), highs == vec4<u32>(255u)),
    );
}

// Returns what steps along each axis stand for.
fn bounds_of(head: vec4<u32>, low: vec3<u32>, high: vec3<u32>) -> BoxBits {
    let origin = bitcast<vec3<f32>>(head.xyz);
    let size = vec3<f32>(step_size(head, 0u), step_size(head, 1u), step_size(head, 2u));
    return BoxBits(
        select(bitcast<vec3<u32>>(origin + vec3<f32>(low) * size), vec3<u32>(MINUS_INFINITY), low == vec3<u32>(0u)),
        select(bitcast<vec3<u32>>(origin + vec3<f32>(high) * size), vec3<u32>(INFINITY), high == vec3<u32>(255u)),
    );
}

fn ordered4(bits: vec4<u32>) -> vec4<i32> {
    let signed = bitcast<vec4<i32>>(bits);
    return select(signed, bitcast<vec4<i32>>(vec4<u32>(0x80000000u) - bits), signed < vec4<i32>(0));
}

// Packs four flags.
fn bits_of(flags: vec4<bool>) -> u32 {
    let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), flags);
    return (bits.x | bits.y) | (bits.z | bits.w);
}
