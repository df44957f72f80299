// prepare_boxes: pads boxes by their margins; replaces a box that stands for a half-space by the whole space.
//
// Reads   params
//         boxes            [box_count * 3] bits of f32, two at a time
//         margins          [box_count] bits of f32, finite and not negative; or a NaN, which makes the box invalid
//         half_space_bits  [box_count / 32, rounded up] a bit per box: set if it stands for a half-space
//         Values beyond the end of the last two count as zero, so an absent list is a buffer of zeros of any length.
// Writes  prepared         [box_count * 3] bits of f32, two at a time
//
// An upper bound is the smallest f32 that is at least the exact max + margin, a lower bound the largest f32 that is at
// most the exact min - margin. Infinite bounds and NaNs do not change. A zero sum may have either sign, which the
// overlap test ignores.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> margins: array<u32>;
@group(0) @binding(3) var<storage, read> half_space_bits: array<u32>;
@group(0) @binding(4) var<storage, read_write> prepared: array<vec2<u32>>;

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
        // Clear the sign, since a margin may be -0.
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
