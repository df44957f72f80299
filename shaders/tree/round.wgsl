// Computes when a moving ball or capsule touches a box that its bounds touch, in 64-bit numbers. The time may be too
// early by rounding, never too late. Shared, with path.wgsl, round_shape.wgsl and double.wgsl, by the kernels that
// cast. The twin of src/queries/round.rs, which explains the method and gives the same bits.

// The distance along each axis from the box to the nearest place on the segment, later the normal, in 64 bits.
var<private> apart_low: vec3<u32>;
var<private> apart_high: vec3<u32>;
// The places along the segment that may still be compared.
var<private> places_left: u32;
// The approximate turns of loops so far.
var<private> round_turns: u32;

const ONE_64: vec2<u32> = vec2<u32>(0u, 0x3ff00000u);

// The touch of a shape and a box.
struct Touch {
    is_touched: bool,
    // True if the shape touches the box at the start, up to rounding.
    is_at_start: bool,
    // The time, in bits of f32.
    t: u32,
    // The course of the shape relative to the nearest point of the box at the start.
    course: u32,
}

// The shape does not approach the nearest point, approaches it, or has its segment inside the box.
const COURSE_APART: u32 = 0u;
const COURSE_TOWARD: u32 = 1u;
const COURSE_UNKNOWN: u32 = 2u;

const BOUND_TIME: u32 = 0u;
const BOUND_NEVER: u32 = 1u;
const BOUND_NONE: u32 = 2u;

// The conclusion from a plane: the shape touches no sooner than a time, the shape never touches, or no conclusion.
struct PlaneBound {
    kind: u32,
    time: vec2<u32>,
    course: u32,
}

// Returns the signed distance along an axis from the box to a place on the segment at a time: negative before the box,
// 0 within it.
fn apart_at(own: BoxBits, k: u32, t: vec2<u32>, place: vec2<u32>) -> vec2<u32> {
    let moved = sum(widened(round_from[k]), product(t, widened(path_direction[k])));
    let at = sum(moved, product(place, vec2<u32>(along_low[k], along_high[k])));
    let low = widened(own.low[k]);
    let high = widened(own.high[k]);
    // Infinite bounds are replaced by finite numbers here.
    let is_before = own.low[k] != MINUS_INFINITY && is_less(at, low);
    let is_behind = own.high[k] != INFINITY && is_less(high, at);
    let difference = sum(at, negative(select(high, low, is_before)));
    return select(vec2<u32>(0u), difference, is_before || is_behind);
}

// Finds the signed distance along each axis from the box to the nearest place on the segment at a time. At this place,
// the derivative of the squared distance changes its sign.
fn find_nearest(own: BoxBits, t: vec2<u32>) {
    var low = vec2<u32>(0u);
    var high = ONE_64;
    var place = vec2<u32>(0u);
    for (var turn = 0u; turn <= ROUND_PLACES; turn += 1u) {
        var slope = vec2<u32>(0u);
        var curve = vec2<u32>(0u);
        for (var k = 0u; k < 3u; k += 1u) {
            let apart = apart_at(own, k, t, place);
            apart_low[k] = apart.x;
            apart_high[k] = apart.y;
            let along = select(vec2<u32>(along_low[k], along_high[k]), vec2<u32>(0u), is_zero64(apart));
            slope = sum(slope, product(along, apart));
            curve = sum(curve, product(along, along));
        }
        round_turns += 8u;
        let is_level = is_zero64(magnitude(slope));
        let is_up = slope.y < SIGN;
        let is_least = is_level || (turn == 0u && is_up) || (turn == 1u && !is_up);
        if is_least || turn == ROUND_PLACES || places_left == 0u {
            return;
        }
        places_left -= 1u;
        if turn == 0u {
            place = ONE_64;
            continue;
        }
        high = select(high, place, is_up);
        low = select(place, low, is_up);
        let step = quotient(slope, curve);
        if !is_less(half_to(ROUND_PLACE_BITS), magnitude(step)) {
            return;
        }
        let next = sum(place, negative(step));
        let is_within = is_less(low, next) && is_less(next, high);
        place = select(product(half_to(1u), sum(low, high)), next, is_within);
    }
}

// Scales the distances of find_nearest by a power of two to a normal whose largest component is one to two. Returns
// false if the place is in the box.
fn find_normal() -> bool {
    let exponents = (apart_high >> vec3<u32>(20u)) & vec3<u32>(0x7ffu);
    let largest = max(exponents.x, max(exponents.y, exponents.z));
    let is_part = exponents + vec3<u32>(ROUND_SMALL_BITS) >= vec3<u32>(largest);
    apart_low = select(vec3<u32>(0u), apart_low, is_part);
    apart_high = select(vec3<u32>(0u), apart_high + vec3<u32>((1023u - largest) << 20u), is_part);
    return largest != 0u;
}

// Returns the conclusion from the plane with this normal through the farthest corner of a box. The shape must not touch
// before time t. All errors are on the safe side.
fn bound_by(own: BoxBits, t: vec2<u32>) -> PlaneBound {
    // The heights of both ends above the plane, and the magnitudes of the terms.
    var above = vec4<u32>(0u);
    var sizes = vec4<u32>(0u);
    var speed = vec2<u32>(0u);
    var speeds = vec2<u32>(0u);
    var square = vec2<u32>(0u);
    for (var k = 0u; k < 3u; k += 1u) {
        let normal = vec2<u32>(apart_low[k], apart_high[k]);
        if is_zero64(normal) {
            continue;
        }
        let corner = negative(widened(select(own.high[k], own.low[k], normal.y >= SIGN)));
        for (var end = 0u; end < 2u; end += 1u) {
            let height = product(normal, sum(widened(select(round_from[k], round_to[k], end == 1u)), corner));
            above = vec4<u32>(above.zw, sum(above.xy, height));
            sizes = vec4<u32>(sizes.zw, sum(sizes.xy, magnitude(height)));
        }
        let part = product(normal, widened(path_direction[k]));
        speed = sum(speed, part);
        speeds = sum(speeds, magnitude(part));
        square = sum(square, product(normal, normal));
    }
    let nearest = select(above.xy, above.zw, is_less(above.zw, above.xy));
    let reach = product(widened(round_radius), root(square));
    let size = sum(select(sizes.xy, sizes.zw, is_less(sizes.xy, sizes.zw)), reach);
    let gap = sum(sum(nearest, negative(reach)), negative(product(size, half_to(ROUND_GAP_BITS))));
    let closing = sum(product(speeds, half_to(ROUND_SPEED_BITS)), negative(speed));
    let is_apart = is_less(vec2<u32>(0u), gap);
    round_turns += 18u;
    let course = select(COURSE_APART, COURSE_TOWARD, is_less(speed, vec2<u32>(0u)));
    if is_less(vec2<u32>(0u), closing) {
        let time = product(quotient(gap, closing), DOWN);
        return PlaneBound(select(BOUND_NONE, BOUND_TIME, is_apart), time, course);
    }
    // The shape moves away from the plane, and is above it at that time or at the start.
    let away = product(negative(closing), t);
    let is_above = is_apart || is_less(product(sum(size, away), half_to(ROUND_GAP_BITS)), sum(gap, away));
    return PlaneBound(select(BOUND_NONE, BOUND_NEVER, is_above), t, course);
}

// 1 - 2^-ROUND_QUOTIENT_BITS.
const DOWN: vec2<u32> = vec2<u32>(~((1u << (53u - ROUND_QUOTIENT_BITS)) - 1u), 0x3fefffffu);

// Returns when the shape first touches a valid box within the limit. The bounds of the shape touch the box at `start`.
fn touch_of(own: BoxBits, start: u32, is_at_start: bool) -> Touch {
    var t = widened(start);
    places_left = ROUND_ALL_PLACES;
    var course = COURSE_UNKNOWN;
    for (var plane = 0u; plane < ROUND_PLANES; plane += 1u) {
        find_nearest(own, t);
        if !find_normal() {
            break;
        }
        let bound = bound_by(own, t);
        course = bound.course;
        let is_late = path_limit != INFINITY && is_less(widened(path_limit), bound.time);
        if bound.kind == BOUND_NEVER || (bound.kind == BOUND_TIME && is_late) {
            return Touch(false, false, INFINITY, course);
        }
        if bound.kind == BOUND_NONE || !is_less(t, bound.time) {
            break;
        }
        let is_same = !is_less(product(bound.time, half_to(ROUND_TIME_BITS)), sum(bound.time, negative(t)));
        t = bound.time;
        if is_same {
            break;
        }
    }
    let bits = max(narrowed(unpacked(t), TO_ZERO), start);
    // Numbers below the smallest normal one become zero.
    return Touch(true, is_at_start && is_zero64(t), select(bits, 0u, bits < 0x800000u), course);
}

// Returns whether a shape that touches a box at the start leaves the box.
fn departs(touch: Touch, own: BoxBits) -> bool {
    return touch.course == COURSE_APART || (touch.course == COURSE_UNKNOWN && separates(own));
}
