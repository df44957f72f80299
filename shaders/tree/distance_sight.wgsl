// Tests in f32 whether boxes are within `sight_limit`, squared, of a point. Shared by the kernels that search around a
// point, together with distance.wgsl and walk.wgsl.

// Adds the squared distances of four children along an axis to `sum`. Relative to the point, a child begins at `below`
// plus its first step, and ends at its last step minus `above`.
fn add_axis(sum: vec4<f32>, below: f32, above: f32, size: f32, first: u32, last: u32) -> vec4<f32> {
    let from_below = vec4<f32>(bytes_of(first)) * size + below;
    let from_above = above - vec4<f32>(bytes_of(last)) * size;
    let beyond = max(max(from_below, from_above), vec4<f32>(0.0));
    return sum + beyond * beyond;
}

fn see(at: u32) -> Seen {
    if !is_usual {
        return Seen(0u, 0xffu, vec4<f32>(0.0), vec4<f32>(0.0));
    }
    let head = nodes[at];
    let size = step_sizes(head);
    // Reduced by the margin for the largest terms, which exceeds the errors.
    let from_origin = bitcast<vec3<f32>>(head.xyz) - sight_point;
    let error = (abs(from_origin) + 255.0 * size) * ROUNDING;
    let below = from_origin - error;
    let above = -from_origin - error;
    var a = vec4<f32>(0.0);
    var b = vec4<f32>(0.0);
    for (var k = 0u; k < 3u; k += 1u) {
        let words = nodes[at + 1u + k];
        a = add_axis(a, below[k], above[k], size[k], words.x, words.z);
        b = add_axis(b, below[k], above[k], size[k], words.y, words.w);
    }
    // Sums of squares are rounded too.
    a *= 1.0 - ROUNDING;
    b *= 1.0 - ROUNDING;
    let limit = vec4<f32>(sight_limit + margin_of(sight_limit));
    let vast = vast_children(head);
    return Seen((bits_of(a <= limit) | (bits_of(b <= limit) << 4u)) & ~vast, vast, a, b);
}

// Returns whether a box is within `sight_limit`. `near` is 0 only if the point is proven to be in the box.
fn sight_of(own: BoxBits) -> Sight {
    if !is_usual || class_of(own.low, own.high) != 0u {
        return Sight(is_none(own), false, -1.0);
    }
    let beyond = max(bitcast<vec3<f32>>(own.low) - sight_point, sight_point - bitcast<vec3<f32>>(own.high));
    let is_within = all(beyond < vec3<f32>(-FLUSHED));
    let along = max(beyond, vec3<f32>(0.0));
    let sum = along.x * along.x + along.y * along.y + along.z * along.z;
    let square = select(max(sum, FLUSHED), 0.0, is_within);
    let error = margin_of(max(square, sight_limit));
    let is_missed = square - error > sight_limit;
    let is_proven = (square + error < sight_limit) | is_within;
    return Sight(is_missed, is_proven, square);
}

// Returns whether a box is at most the radius away, and not infinitely far.
fn decide(own: BoxBits) -> bool {
    if any(ordered(own.low) > ordered(own.high)) {
        return false;
    }
    let ends = ends_of(own.low, own.high);
    if any((ends & vec3<u32>(~SIGN)) >= vec3<u32>(INFINITY)) {
        return false;
    }
    if radius == INFINITY {
        return true;
    }
    begin_sum();
    add_square(ends, 0u);
    add_product(radius ^ SIGN, radius, 0u);
    return sign_of_sum() <= 0;
}
