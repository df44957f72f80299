// Splits a nonnegative finite f32, in bits, into whole_part * 2^(power_part - 150). Denormals have the power of the
// smallest normal numbers. Shared by the kernels that compute with bounds exactly.

// 1.0, in bits.
const ONE: u32 = 0x3f800000u;

// Returns the whole part: 24 bits, including the leading one.
fn whole_part(bits: vec3<u32>) -> vec3<u32> {
    let fraction = bits & vec3<u32>(0x7fffffu);
    return select(fraction, fraction | vec3<u32>(0x800000u), bits >= vec3<u32>(0x800000u));
}

// Returns the power part, at least 1.
fn power_part(bits: vec3<u32>) -> vec3<u32> {
    return max(bits >> vec3<u32>(23u), vec3<u32>(1u));
}

// Returns the product of two 24-bit numbers as (low, high), computed in halves of 12 bits.
fn product64(n: u32, c: u32) -> vec2<u32> {
    let lows = (n & 0xfffu) * (c & 0xfffu);
    let middles = (n & 0xfffu) * (c >> 12u) + (n >> 12u) * (c & 0xfffu) + (lows >> 12u);
    return vec2<u32>(n * c, ((n >> 12u) * (c >> 12u) + (middles >> 12u)) >> 8u);
}
