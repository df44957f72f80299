// Computes sums of f32, rounded up, in bits. Shared, together with float_parts.wgsl, by the kernels that pad boxes and
// spheres.
//
// The sums are computed in integers, since WGSL allows drivers to round up or down, flush denormals, and assume no
// infinity.
//
// Source: outward rounding of interval arithmetic, Moore 1966, Interval Analysis.


// Returns the smallest f32 that is at least the exact sum, in bits; `margin` is finite, and its sign bit is clear.
//
// Both numbers are 24-bit integers times a power of two (float_parts.wgsl). They are shifted up by 6 bits, so the
// leading bit of the larger number is bit 29. The smaller number is then shifted down to the power of the larger. It
// loses bits only in a shift by more than 6. Then the leading bit of the sum is bit 28 or above, even if the signs
// differ. So lost bits are below the 24 bits of the result: it only matters whether they are all zero.
fn sum_rounded_up(bound: vec3<u32>, margin: vec3<u32>) -> vec3<u32> {
    let magnitude = bound & ~vec3<u32>(SIGN);
    let is_larger = magnitude > margin;
    let larger = select(margin, magnitude, is_larger);
    let smaller = select(magnitude, margin, is_larger);
    let power = power_part(larger);
    let down = min(power - power_part(smaller), vec3<u32>(31u));

    let whole = whole_part(smaller) << vec3<u32>(6u);
    let shifted = whole >> down;
    let lost = select(vec3<u32>(0u), vec3<u32>(1u), (shifted << down) != whole);
    let is_negative = bound >= vec3<u32>(SIGN);
    let start = whole_part(larger) << vec3<u32>(6u);
    // The sum, rounded down if bits are lost.
    let sum = select(start + shifted, start - shifted - lost, is_negative);

    // Shift the leading bit to bit 30, unless the power would be less than the power of denormals.
    let up = min(countLeadingZeros(sum) - vec3<u32>(1u), power);
    let aligned = sum << up;
    let is_inexact = ((aligned & vec3<u32>(127u)) | lost) != vec3<u32>(0u);
    // The leading bit adds one to the exponent, and rounding up may carry into the exponent. Beyond the largest number,
    // the result is infinity.
    let truncated = ((power - up) << vec3<u32>(23u)) + (aligned >> vec3<u32>(7u));
    // The sum has the sign of the larger number. A negative sum is rounded towards zero.
    let is_sum_negative = is_negative & is_larger;
    let positive = min(truncated + select(vec3<u32>(0u), vec3<u32>(1u), is_inexact), vec3<u32>(INFINITY));
    let result = select(positive, truncated | vec3<u32>(SIGN), is_sum_negative);
    let finite = select(result, vec3<u32>(0u), sum == vec3<u32>(0u));
    return select(finite, bound, magnitude >= vec3<u32>(INFINITY));
}
