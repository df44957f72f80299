// What f32 says of which boxes a path touches by the time `sight_limit`. Shared by the kernels that walk along paths, together
// with path.wgsl and walk.wgsl.

// Turns of loops that a decision takes.
const DECISION: u32 = 12u;

// What is known of four children after some axes.
struct Half {
    near: vec4<f32>,
    far: vec4<f32>,
    largest: vec4<u32>,
    touches: vec4<bool>,
}

// Adds an axis.
fn along(half: Half, slabs: Slabs, k: u32) -> Half {
    var own = half;
    own.largest = max(own.largest, max(slabs.low & vec4<u32>(~SIGN), slabs.high & vec4<u32>(~SIGN)));
    if is_still[k] {
        let from_high = ordered(path_high)[k];
        let from_low = ordered(path_low)[k];
        own.touches &= (ordered4(slabs.low) <= vec4<i32>(from_high)) & (vec4<i32>(from_low) <= ordered4(slabs.high));
    } else {
        let first = bitcast<vec4<f32>>(select(slabs.low, slabs.high, vec4<bool>(is_backward[k])));
        let last = bitcast<vec4<f32>>(select(slabs.high, slabs.low, vec4<bool>(is_backward[k])));
        own.near = max(own.near, (first - sight_reach[k]) * sight_inverse[k]);
        own.far = min(own.far, (last - sight_leave[k]) * sight_inverse[k]);
    }
    return own;
}

// Tells which of four children the path does not miss, as far as f32 can tell.
fn met(half: Half) -> vec4<bool> {
    let near = max(half.near, vec4<f32>(0.0));
    let first = min(half.far, vec4<f32>(sight_limit));
    let doubt = max(near, abs(first)) * ROUNDING + flushed;
    return (near - doubt <= first) & half.touches;
}

fn see(at: u32) -> Seen {
    if !is_usual {
        return Seen(0u, 0xffu, vec4<f32>(0.0), vec4<f32>(0.0));
    }
    let begin = Half(vec4<f32>(-NEVER), vec4<f32>(NEVER), vec4<u32>(0u), vec4<bool>(true));
    var a = begin;
    var b = begin;
    let head = nodes[at];
    for (var k = 0u; k < 3u; k += 1u) {
        let words = nodes[at + 1u + k];
        a = along(a, slabs_of(head, k, words.x, words.z), k);
        b = along(b, slabs_of(head, k, words.y, words.w), k);
    }
    let vast_a = a.largest > vec4<u32>(USUAL_BITS);
    let vast_b = b.largest > vec4<u32>(USUAL_BITS);
    return Seen(
        bits_of(met(a) & !vast_a) | (bits_of(met(b) & !vast_b) << 4u),
        bits_of(vast_a) | (bits_of(vast_b) << 4u),
        select(max(a.near, vec4<f32>(0.0)), vec4<f32>(0.0), vast_a),
        select(max(b.near, vec4<f32>(0.0)), vec4<f32>(0.0), vast_b),
    );
}

// Says of a box whether the path touches it by the time `sight_limit`. Near is 0 only where the path surely touches it in the
// beginning.
fn sight_of(own: BoxBits) -> Sight {
    if !is_usual || class_of(own.low, own.high) != 0u {
        return Sight(false, false, -1.0);
    }
    let first = bitcast<vec3<f32>>(select(own.low, own.high, is_backward));
    let last = bitcast<vec3<f32>>(select(own.high, own.low, is_backward));
    let reached = select((first - sight_reach) * sight_inverse, vec3<f32>(-NEVER), is_still);
    let left = select((last - sight_leave) * sight_inverse, vec3<f32>(NEVER), is_still);
    let from_first = max(max(reached.x, reached.y), reached.z);
    let far = min(min(left.x, left.y), left.z);
    let overlaps = (ordered(own.low) <= ordered(path_high)) & (ordered(path_low) <= ordered(own.high));
    let touches = all(overlaps | !is_still);
    let is_first = from_first < -flushed;
    let near = max(from_first, 0.0);
    let doubt = max(near, abs(min(far, sight_limit))) * ROUNDING + flushed;
    let is_missed = (near - doubt > min(far, sight_limit)) | !touches;
    let is_in_time = (near + doubt < sight_limit) | is_first;
    let is_sure = (near + doubt < far) & is_in_time & touches;
    return Sight(is_missed, is_sure, select(max(near, flushed), 0.0, is_first));
}

fn decide(own: BoxBits) -> bool {
    return enters(own.low, own.high);
}
