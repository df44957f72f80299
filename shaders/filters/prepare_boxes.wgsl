// prepare_boxes: the boxes as they are searched: padded by their margins, or the whole space if a box stands for a
// half-space.
//
// Reads   params
//         boxes            [box_count * 3] bits of f32, two at a time
//         margins          [box_count] bits of f32, finite and not negative; or a NaN, which makes the box invalid
//         half_space_bits  [box_count / 32, rounded up] a bit per box: set if it stands for a half-space
//         Values beyond the end of the last two count as zero, so an absent list is a buffer of zeros of any length.
// Writes  prepared         [box_count * 3] bits of f32, two at a time
// A bound is the smallest f32 that is at least the exact max + margin, or the largest that is at most min - margin;
// infinite bounds and NaNs stay. A zero sum may have either sign, which the overlap test ignores.
//
// Added in integers: WGSL lets a driver round either way, flush denormals, and assume that there is no infinity.
// Source: outward rounding of interval arithmetic, Moore 1966, Interval Analysis.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> margins: array<u32>;
@group(0) @binding(3) var<storage, read> half_space_bits: array<u32>;
@group(0) @binding(4) var<storage, read_write> prepared: array<vec2<u32>>;

const SIGN: u32 = 0x80000000u;
const INFINITY: u32 = 0x7f800000u;

@compute @workgroup_size(256)
fn prepare_boxes(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= params.box_count {
        return;
    }
    var low = min_bits_of(i);
    var high = max_bits_of(i);
    if i < arrayLength(&margins) {
        // -0 is a margin too.
        let margin = vec3<u32>(margins[i] & ~SIGN);
        low = less_rounded_down(low, margin);
        high = sum_rounded_up(high, margin);
        if margin.x > INFINITY {
            low = margin;
            high = margin;
        }
    }
    if i / 32u < arrayLength(&half_space_bits) && ((half_space_bits[i / 32u] >> (i % 32u)) & 1u) != 0u {
        low = vec3<u32>(SIGN | INFINITY);
        high = vec3<u32>(INFINITY);
    }
    prepared[i * 3u] = low.xy;
    prepared[i * 3u + 1u] = vec2<u32>(low.z, high.x);
    prepared[i * 3u + 2u] = high.yz;
}

// Returns the largest f32 that is at most the exact difference, in bits; `margin` is finite, and its sign bit is clear.
fn less_rounded_down(bound: vec3<u32>, margin: vec3<u32>) -> vec3<u32> {
    return sum_rounded_up(bound ^ vec3<u32>(SIGN), margin) ^ vec3<u32>(SIGN);
}

// Returns the smallest f32 that is at least the exact sum, in bits; `margin` is finite, and its sign bit is clear.
//
// Both are whole numbers of 24 bits times a power of two (float_parts.wgsl). They are shifted up by 6 bits, so that the
// leading bit of the larger one is bit 29, and the smaller one down to the power of the larger one. It loses bits only
// where that is by more than 6, and then the sum's leading bit is bit 28 or above, even if the signs differ: so what is
// lost lies below the 24 bits of the result, and all that matters is whether it is zero.
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
    // Rounded down, if `lost`.
    let sum = select(start + shifted, start - shifted - lost, is_negative);

    // The leading bit becomes bit 30, unless the power would be less than that of denormals.
    let up = min(countLeadingZeros(sum) - vec3<u32>(1u), power);
    let aligned = sum << up;
    let is_inexact = ((aligned & vec3<u32>(127u)) | lost) != vec3<u32>(0u);
    // The leading bit adds one to the exponent, and rounding up may carry into it. Beyond the largest is infinity.
    let truncated = ((power - up) << vec3<u32>(23u)) + (aligned >> vec3<u32>(7u));
    // The sum has the sign of the larger one. One that is negative is rounded towards zero.
    let is_sum_negative = is_negative & is_larger;
    let positive = min(truncated + select(vec3<u32>(0u), vec3<u32>(1u), is_inexact), vec3<u32>(INFINITY));
    let result = select(positive, truncated | vec3<u32>(SIGN), is_sum_negative);
    let finite = select(result, vec3<u32>(0u), sum == vec3<u32>(0u));
    return select(finite, bound, magnitude >= vec3<u32>(INFINITY));
}
