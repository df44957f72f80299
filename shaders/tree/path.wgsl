// Computes when a moving box first touches another box: in f32 if this suffices, otherwise exactly. Shared by the
// kernels that cast; they have `queries` [query_count * u32_count] in bits of f32. A ray has origin, direction and
// limit; a box has lower and upper corner, direction and limit. A round shape has its bounding box and its own words
// (round_shape.wgsl).
//
// A moving box touches another box from the time at which it has reached the box along all axes, until it has passed
// the box along one axis. A time is (plane - origin) / direction. In f32, a time has at most five roundings of 2^-23
// (WGSL's division has 2.5), and a difference or a product may be flushed to zero. ROUNDING and `flushed` bound the
// relative and absolute errors of two times together. f32 is used only for numbers of usual size, so that nothing
// overflows. The exact decisions are the twin of src/queries/path.rs.

// 2^-19.
const ROUNDING: f32 = 1.9073486e-6;
// 2^-117: an upper bound of the error if the time of a step is flushed to zero, for 255 steps.
const FLUSHED_STEPS: f32 = 6.0185310e-36;
// Exceeds all times of usual numbers.
const NEVER: f32 = 3e37;

// True if shapes are round.
override IS_ROUND: bool = false;

// The front and the rear plane of the moving box along each axis: the first plane to reach another box, and the last
// plane to pass it. For a backward motion, the front is the lower plane.
var<private> path_front: vec3<u32>;
var<private> path_rear: vec3<u32>;
// The direction, with 0 instead of -0.
var<private> path_direction: vec3<u32>;
var<private> path_limit: u32;
// Values for the tests in f32.
var<private> sight_inverse: vec3<f32>;
var<private> sight_limit: f32;
var<private> flushed: f32;
// A bit per axis: set if the path does not move along it.
var<private> still_axes: u32;
var<private> is_usual: bool;

fn are_finite(bits: vec3<u32>) -> vec3<bool> {
    return (bits & vec3<u32>(~SIGN)) < vec3<u32>(INFINITY);
}

// Returns for each axis whether the path moves down.
fn is_backward() -> vec3<bool> {
    return path_direction >= vec3<u32>(SIGN);
}

// Returns an upper bound of the total error of two times of about this size.
fn margin_of(time: f32) -> f32 {
    return time * ROUNDING + flushed;
}

// Reads the path of a query, and returns whether it is valid.
fn begin_shape(number: u32) -> bool {
    let at = number * query.u32_count;
    let low = vec3<u32>(queries[at], queries[at + 1u], queries[at + 2u]);
    var high = low;
    var next = at + 3u;
    if query.u32_count >= BOX_CAST_U32_COUNT {
        high = vec3<u32>(queries[at + 3u], queries[at + 4u], queries[at + 5u]);
        next = at + 6u;
    }
    let direction = vec3<u32>(queries[next], queries[next + 1u], queries[next + 2u]);
    path_direction = select(direction, vec3<u32>(0u), direction == vec3<u32>(SIGN));
    path_limit = queries[next + 3u];
    // Replace a limit of -0 by 0.
    path_limit = select(path_limit, 0u, path_limit == SIGN);
    let is_back = (path_direction & vec3<u32>(SIGN)) != vec3<u32>(0u);
    path_front = select(high, low, is_back);
    path_rear = select(low, high, is_back);
    let kind = kind_of(low, high);
    let is_box = kind == KIND_FINITE || (kind == KIND_UNBOUNDED && query.u32_count >= BOX_CAST_U32_COUNT);
    let is_valid = is_box && all(are_finite(path_direction)) && path_limit <= INFINITY;

    let speed = path_direction & vec3<u32>(~SIGN);
    let is_still = speed == vec3<u32>(0u);
    let is_speed = is_still | ((speed >= vec3<u32>(SLOW_BITS)) & (speed <= vec3<u32>(USUAL_BITS)));
    is_usual = class_of(low, high) == 0u && all(is_speed);
    if is_usual {
        let inverse = 1.0 / bitcast<vec3<f32>>(select(path_direction, vec3<u32>(ONE), is_still));
        sight_inverse = select(inverse, vec3<f32>(0.0), is_still);
        still_axes = bits_of(vec4<bool>(is_still, false));
        let largest = max(max(abs(sight_inverse.x), abs(sight_inverse.y)), abs(sight_inverse.z));
        // 2^-123 times the largest, plus 2^-123.
        flushed = largest * 9.403955e-38 + 9.403955e-38;
        sight_limit = NEVER;
        if path_limit < bitcast<u32>(NEVER) {
            sight_limit = bitcast<f32>(path_limit);
        }
    }
    if IS_ROUND {
        begin_round(at);
    }
    return is_valid;
}

// ---- exact ----

// The time at which a face of the moving box reaches the plane of another box's face: (plane - origin) / speed. A speed
// of 0 means the time 0.
struct Crossing {
    plane: u32,
    origin: u32,
    speed: u32,
}

// Compares the times of two crossings. A plain time t is given as the crossing from 0 to t at speed 1.
fn compare_crossings(a: Crossing, b: Crossing) -> i32 {
    let numbers = vec4<u32>(a.plane, a.origin ^ SIGN, b.plane ^ SIGN, b.origin);
    return sign_of(sum_of_products(numbers, vec4<u32>(b.speed, b.speed, a.speed, a.speed)));
}

// Returns the crossing at which the moving box reaches another box along an axis; with `is_rear`, at which it has
// passed the box. A backward motion is mirrored.
fn crossing_along(k: u32, low: vec3<u32>, high: vec3<u32>, is_rear: bool) -> Crossing {
    let turned = path_direction[k] & SIGN;
    let plane = select(low[k], high[k], is_rear != (turned != 0u));
    let origin = select(path_front[k], path_rear[k], is_rear);
    return Crossing(plane ^ turned, origin ^ turned, path_direction[k] ^ turned);
}

// Returns whether the crossing has a finite time: the box moves, and neither plane is infinite.
fn is_crossing(what: Crossing) -> bool {
    return what.speed != 0u && max(what.plane & ~SIGN, what.origin & ~SIGN) < INFINITY;
}

// Returns whether a plane is above another.
fn is_above(plane: u32, other: u32) -> bool {
    let both = ordered(vec3<u32>(plane, other, 0u));
    return both.x > both.y;
}

// Returns the crossing at which the moving box first touches a box: the last one along the axes. The moving box must
// touch the box.
fn latest(low: vec3<u32>, high: vec3<u32>) -> Crossing {
    var found = Crossing(0u, 0u, 0u);
    for (var k = 0u; k < 3u; k += 1u) {
        let own = crossing_along(k, low, high, false);
        // An infinite plane is behind the moving box, or is never reached.
        if is_crossing(own) && is_above(own.plane, own.origin) && (found.speed == 0u || compare_crossings(own, found) > 0) {
            found = own;
        }
    }
    return found;
}

// Returns whether the moving box touches another.
fn enters(low: vec3<u32>, high: vec3<u32>) -> bool {
    if any(ordered(low) > ordered(high)) {
        return false;
    }
    for (var k = 0u; k < 3u; k += 1u) {
        let reach = crossing_along(k, low, high, false);
        let leave = crossing_along(k, low, high, true);
        // An infinite plane is not reached, unless both are infinite on the same side or the boxes touch already.
        let is_open = !is_above(reach.plane, reach.origin) || is_crossing(reach);
        if !is_open || is_above(leave.origin, leave.plane) {
            return false;
        }
    }
    let last = latest(low, high);
    if last.speed == 0u {
        return true;
    }
    // The box must be reached within the limit, and before it is passed along any axis.
    for (var k = 0u; k < 4u; k += 1u) {
        var end = Crossing(path_limit, 0u, ONE);
        if k < 3u {
            end = crossing_along(k, low, high, true);
        }
        if is_crossing(end) && compare_crossings(last, end) > 0 {
            return false;
        }
    }
    return true;
}

// Compares when the path touches two boxes.
fn compare_boxes(own: BoxBits, other: BoxBits) -> i32 {
    if IS_ROUND {
        // Round shapes are compared by their times in f32, which are the reported values.
        if is_round {
            return 0;
        }
    }
    let a = latest(own.low, own.high);
    let b = latest(other.low, other.high);
    if a.speed == 0u || b.speed == 0u {
        return select(0, 1, a.speed != 0u) - select(0, 1, b.speed != 0u);
    }
    return compare_crossings(a, b);
}

// Returns exactly whether the path leaves a box that it touches at the start: whether it moves away from, or along, a
// face of least penetration.
fn separates(own: BoxBits) -> bool {
    // The least penetration so far, as the crossing from one bound to the other.
    var least = Crossing(0u, 0u, 0u);
    var is_away = true;
    for (var face = 0u; face < 6u; face += 1u) {
        let k = face >> 1u;
        let is_rear = (face & 1u) == 0u;
        let bounds = crossing_along(k, own.low, own.high, is_rear);
        var depth = Crossing(select(bounds.origin, bounds.plane, is_rear), select(bounds.plane, bounds.origin, is_rear), ONE);
        if depth.plane == depth.origin {
            depth = Crossing(0u, 0u, ONE);
        }
        let is_face_away = is_rear || path_direction[k] == 0u;
        var order = 1;
        if is_crossing(depth) {
            order = -1;
            if least.speed != 0u {
                order = compare_crossings(depth, least);
            }
        }
        if order < 0 || (order == 0 && is_face_away) {
            least = depth;
            is_away = is_face_away;
        }
    }
    return is_away;
}
