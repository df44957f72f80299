// A finite f32 that is not negative, in bits, as whole_part * 2^(power_part - 150). Denormals have the power of the
// smallest normal numbers. Shared by the kernels that compute with bounds exactly.

// Returns the whole part, of 24 bits, with the leading one.
fn whole_part(bits: vec3<u32>) -> vec3<u32> {
    let fraction = bits & vec3<u32>(0x7fffffu);
    return select(fraction, fraction | vec3<u32>(0x800000u), bits >= vec3<u32>(0x800000u));
}

// Returns the power part, at least 1.
fn power_part(bits: vec3<u32>) -> vec3<u32> {
    return max(bits >> vec3<u32>(23u), vec3<u32>(1u));
}
