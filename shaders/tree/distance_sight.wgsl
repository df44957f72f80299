// What f32 says of which boxes are as near to a point as `sight_limit`, squared. Shared by the kernels that walk around a point,
// together with distance.wgsl and walk.wgsl.

// How far four children are along some axes, squared.
struct Half {
    square: vec4<f32>,
    largest: vec4<u32>,
}

// Adds an axis.
fn along(half: Half, slabs: Slabs, k: u32) -> Half {
    let largest = max(half.largest, max(slabs.low & vec4<u32>(~SIGN), slabs.high & vec4<u32>(~SIGN)));
    let below = bitcast<vec4<f32>>(slabs.low) - sight_point[k];
    let above = sight_point[k] - bitcast<vec4<f32>>(slabs.high);
    let beyond = max(max(below, above), vec4<f32>(0.0));
    return Half(half.square + beyond * beyond, largest);
}

fn are_near(square: vec4<f32>) -> vec4<bool> {
    let limit = vec4<f32>(sight_limit);
    return square - (max(square, limit) * ROUNDING + FLUSHED) <= limit;
}

fn see(at: u32) -> Seen {
    if !is_usual {
        return Seen(0u, 0xffu, vec4<f32>(0.0), vec4<f32>(0.0));
    }
    var a = Half(vec4<f32>(0.0), vec4<u32>(0u));
    var b = a;
    let head = nodes[at];
    for (var k = 0u; k < 3u; k += 1u) {
        let words = nodes[at + 1u + k];
        a = along(a, slabs_of(head, k, words.x, words.z), k);
        b = along(b, slabs_of(head, k, words.y, words.w), k);
    }
    let vast_a = a.largest > vec4<u32>(USUAL_BITS);
    let vast_b = b.largest > vec4<u32>(USUAL_BITS);
    return Seen(
        bits_of(are_near(a.square) & !vast_a) | (bits_of(are_near(b.square) & !vast_b) << 4u),
        bits_of(vast_a) | (bits_of(vast_b) << 4u),
        select(a.square, vec4<f32>(0.0), vast_a),
        select(b.square, vec4<f32>(0.0), vast_b),
    );
}

// Says of a box whether it is as near as `sight_limit`. Near is 0 only where the point is surely within it.
fn sight_of(own: BoxBits) -> Sight {
    if !is_usual || class_of(own.low, own.high) != 0u {
        return Sight(false, false, -1.0);
    }
    let beyond = max(bitcast<vec3<f32>>(own.low) - sight_point, sight_point - bitcast<vec3<f32>>(own.high));
    let is_within = all(beyond < vec3<f32>(-FLUSHED));
    let along = max(beyond, vec3<f32>(0.0));
    let sum = along.x * along.x + along.y * along.y + along.z * along.z;
    let square = select(max(sum, FLUSHED), 0.0, is_within);
    let doubt = max(square, sight_limit) * ROUNDING + FLUSHED;
    let is_missed = square - doubt > sight_limit;
    let is_sure = (square + doubt < sight_limit) | is_within;
    return Sight(is_missed, is_sure, square);
}

// Tells whether a box is at most a radius away, and not infinitely far.
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
    add_square(ends);
    add_product(radius ^ SIGN, radius, 0);
    return sign_of(sum_up()) <= 0;
}
