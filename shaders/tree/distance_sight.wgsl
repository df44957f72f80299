// Which children of a node are as near to a point as `sight_limit`, in f32, and where that leaves a doubt without rounding.
// Shared by the kernels that walk around a point, together with distance.wgsl and walk.wgsl.

struct Half {
    sure: vec4<bool>,
    rounding: vec4<bool>,
    vast: vec4<bool>,
    near: vec4<f32>,
}

// Says of four children whether they are as near as `sight_limit`. Near is 0 only where the point is surely within a child.
fn see_half(at: u32) -> Half {
    var square = vec4<f32>(0.0);
    var largest = vec4<u32>(0u);
    var is_within = vec4<bool>(true);
    for (var k = 0u; k < 3u; k += 1u) {
        let low = nodes[at + 2u * k];
        let high = nodes[at + 2u * k + 6u];
        largest = max(largest, max(low & vec4<u32>(~SIGN), high & vec4<u32>(~SIGN)));
        let below = bitcast<vec4<f32>>(low) - sight_point[k];
        let above = sight_point[k] - bitcast<vec4<f32>>(high);
        let beyond = max(below, above);
        is_within &= beyond < vec4<f32>(-FLUSHED);
        let along = max(beyond, vec4<f32>(0.0));
        square += along * along;
    }
    square = select(max(square, vec4<f32>(FLUSHED)), vec4<f32>(0.0), is_within);
    let limit = vec4<f32>(sight_limit);
    let vast = largest > vec4<u32>(USUAL_BITS);
    let doubt = max(square, limit) * ROUNDING + FLUSHED;
    let misses = square - doubt > limit;
    let sure = ((square + doubt < limit) | is_within) & !vast;
    return Half(sure, !(sure | misses | vast), vast, select(square, vec4<f32>(0.0), vast));
}

fn see(at: u32) -> Seen {
    if !is_usual {
        return Seen(0u, 0u, 0xffu, vec4<f32>(0.0), vec4<f32>(0.0));
    }
    let a = see_half(at);
    let b = see_half(at + 1u);
    return Seen(
        bits_of(a.sure) | (bits_of(b.sure) << 4u),
        bits_of(a.rounding) | (bits_of(b.rounding) << 4u),
        bits_of(a.vast) | (bits_of(b.vast) << 4u),
        a.near,
        b.near,
    );
}

// Tells whether a child is near enough, as far as f32 can tell.
fn is_worth(at: u32, child: u32) -> bool {
    let low = low_of(at, child);
    let high = high_of(at, child);
    if !is_usual || class_of(low, high) != 0u {
        return true;
    }
    let along = max(max(bitcast<vec3<f32>>(low) - sight_point, sight_point - bitcast<vec3<f32>>(high)), vec3<f32>(0.0));
    let square = along.x * along.x + along.y * along.y + along.z * along.z;
    return square - (max(square, sight_limit) * ROUNDING + FLUSHED) <= sight_limit;
}

// Tells whether a child is at most a radius away, and not infinitely far.
fn decide(at: u32, child: u32) -> bool {
    let low = low_of(at, child);
    let high = high_of(at, child);
    if any(ordered(low) > ordered(high)) {
        return false;
    }
    let ends = ends_of(low, high);
    if any((ends & vec3<u32>(~SIGN)) >= vec3<u32>(INFINITY)) {
        return false;
    }
    if radius == INFINITY {
        return true;
    }
    begin_sum();
    add_square(ends);
    add_product(radius ^ SIGN, radius, 0);
    return sign_of(sum_up()) <= 0;
}
