// Which children of a node a path touches by the time `sight_limit`, in f32. Shared by the kernels that walk along paths,
// together with path.wgsl and walk.wgsl.

// Turns of loops that a decision takes.
const DECISION: u32 = 12u;

struct Half {
    sure: vec4<bool>,
    rounding: vec4<bool>,
    vast: vec4<bool>,
    near: vec4<f32>,
}

fn ordered4(bits: vec4<u32>) -> vec4<i32> {
    let signed = bitcast<vec4<i32>>(bits);
    return select(signed, bitcast<vec4<i32>>(vec4<u32>(SIGN) - bits), signed < vec4<i32>(0));
}

// Says of four children whether the path touches them by the time `sight_limit`. Of those that it does not miss, near is 0 only
// where the path surely touches them in the beginning.
fn see_half(at: u32) -> Half {
    var near = vec4<f32>(-NEVER);
    var far = vec4<f32>(NEVER);
    var largest = vec4<u32>(0u);
    var touches = vec4<bool>(true);
    for (var k = 0u; k < 3u; k += 1u) {
        let low = nodes[at + 2u * k];
        let high = nodes[at + 2u * k + 6u];
        largest = max(largest, max(low & vec4<u32>(~SIGN), high & vec4<u32>(~SIGN)));
        if is_still[k] {
            let from_high = ordered(path_high)[k];
            let from_low = ordered(path_low)[k];
            touches &= (ordered4(low) <= vec4<i32>(from_high)) & (vec4<i32>(from_low) <= ordered4(high));
        } else {
            let first = bitcast<vec4<f32>>(select(low, high, vec4<bool>(is_backward[k])));
            let last = bitcast<vec4<f32>>(select(high, low, vec4<bool>(is_backward[k])));
            near = max(near, (first - sight_reach[k]) * sight_inverse[k]);
            far = min(far, (last - sight_leave[k]) * sight_inverse[k]);
        }
    }
    let is_first = near < vec4<f32>(-flushed);
    near = max(near, vec4<f32>(0.0));
    let limit = vec4<f32>(sight_limit);
    let vast = largest > vec4<u32>(USUAL_BITS);
    let doubt = max(near, abs(min(far, limit))) * ROUNDING + flushed;
    let misses = (near - doubt > min(far, limit)) | !touches;
    let is_in_time = (near + doubt < limit) | is_first;
    let sure = (near + doubt < far) & is_in_time & touches & !vast;
    let rank = select(max(near, vec4<f32>(flushed)), vec4<f32>(0.0), is_first | vast);
    return Half(sure, !(sure | misses | vast), vast, rank);
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

fn decide(at: u32, child: u32) -> bool {
    return enters(low_of(at, child), high_of(at, child));
}

// Tells whether a child is reached in time, as far as f32 can tell.
fn is_worth(at: u32, child: u32) -> bool {
    let low = low_of(at, child);
    let high = high_of(at, child);
    if !is_usual || class_of(low, high) != 0u {
        return true;
    }
    let first = bitcast<vec3<f32>>(select(low, high, is_backward));
    let times = select((first - sight_reach) * sight_inverse, vec3<f32>(0.0), is_still);
    let near = max(max(max(times.x, times.y), times.z), 0.0);
    return near - (max(near, sight_limit) * ROUNDING + flushed) <= sight_limit;
}
