// The exact test of a box against a half-space: the exact sign of n.x c.x + n.y c.y + n.z c.z - d. Shared by the
// kernels that test boxes against half-spaces, which also include exact_sum.wgsl.

// Returns `HalfSpace::touches` for a finite normal and offset and a valid box, all in bits.
fn half_space_touches(normal_bits: vec3<u32>, offset_bits: u32, min_bits: vec3<u32>, max_bits: vec3<u32>) -> bool {
    let sign = vec3<u32>(0x80000000u);
    // The deepest corner. Along an axis on which the normal is 0 or -0, any coordinate gives the right sign.
    let corner_bits = select(max_bits, min_bits, normal_bits < sign);
    let normal = normal_bits & ~sign;
    let corner = corner_bits & ~sign;
    let is_negative = (normal_bits ^ corner_bits) >= sign;

    // The last product is the offset times one.
    let sum = sum_of_products(
        vec4<u32>(normal_bits, offset_bits ^ 0x80000000u),
        vec4<u32>(corner_bits, ONE),
    );
    let is_within = sum.high >= 0x80000000u || (sum.high | sum.low) == 0u;

    // A corner that is infinitely far inside along one coordinate is inside, whatever the other coordinates.
    let is_infinite = (corner == vec3<u32>(0x7f800000u)) & (normal != vec3<u32>(0u));
    return any(is_infinite & is_negative) || (is_within && !any(is_infinite));
}
