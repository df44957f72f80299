// The nodes of a tree. Shared by the kernels that build it and those that answer queries.
//
// Level 0 are the leaves: eight boxes each. A node of any other level bounds eight nodes in a row of the level below. A
// node takes twelve vec4 of bits of f32: the lower x of four children and of the other four, then lower y, lower z, upper
// x, upper y and upper z. A child that is not there, or an invalid box, is above infinity and below minus infinity. Behind
// all nodes lies, for each place among the leaves, the index of its box.

const NODE_VECTORS: u32 = 12u;
const MINUS_INFINITY: u32 = 0xff800000u;
const INFINITY: u32 = 0x7f800000u;

// Returns the node of a place among the leaves.
fn leaf_at(place: u32) -> u32 {
    return (place / 8u) * NODE_VECTORS;
}

// Packs four flags.
fn bits_of(flags: vec4<bool>) -> u32 {
    let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), flags);
    return (bits.x | bits.y) | (bits.z | bits.w);
}
