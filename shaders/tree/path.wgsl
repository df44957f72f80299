// A box that moves along a line, and when it first touches another: in f32 where that is enough, and else without rounding.
// Shared by the kernels that cast rays and boxes; they have `queries` [query_count * words] in bits of f32: a ray is
// origin, direction and limit, a box lower and upper corner, direction and limit.
//
// A moving box touches another as soon as it has reached it along each axis, and until it has left it along one. A time
// is (plane - origin) / direction. In f32, a time has five roundings of 2^-23 at most (WGSL's division has 2.5), and a
// difference or a product may be flushed to zero: relative and absolute errors, which ROUNDING and `flushed` bound
// together for two times. Numbers are of usual size there, so that nothing overflows.
// The exact decisions are the twin of src/queries/path.rs.

// 2^-19.
const ROUNDING: f32 = 1.9073486e-6;
// What no time of usual numbers reaches.
const NEVER: f32 = 3e37;
const SIGN: u32 = 0x80000000u;

var<private> path_low: vec3<u32>;
var<private> path_high: vec3<u32>;
var<private> path_direction: vec3<u32>;
var<private> path_limit: u32;
// The same in f32: what is reached and left along each axis is compared with these.
var<private> sight_reach: vec3<f32>;
var<private> sight_leave: vec3<f32>;
var<private> sight_inverse: vec3<f32>;
var<private> sight_limit: f32;
var<private> flushed: f32;
var<private> is_backward: vec3<bool>;
var<private> is_still: vec3<bool>;
// The axes along which the path is still, a bit for each.
var<private> still_axes: u32;
var<private> is_usual: bool;

fn are_finite(bits: vec3<u32>) -> vec3<bool> {
    return (bits & vec3<u32>(~SIGN)) < vec3<u32>(INFINITY);
}

// Returns how far two times about as large as this may be from the true ones, together.
fn doubt_of(time: f32) -> f32 {
    return time * ROUNDING + flushed;
}

// Reads the path of a query, and returns whether all its numbers have a meaning.
fn begin_path(number: u32) -> bool {
    let at = number * query.words;
    path_low = vec3<u32>(queries[at], queries[at + 1u], queries[at + 2u]);
    path_high = path_low;
    var next = at + 3u;
    if query.words == 10u {
        path_high = vec3<u32>(queries[at + 3u], queries[at + 4u], queries[at + 5u]);
        next = at + 6u;
    }
    path_direction = vec3<u32>(queries[next], queries[next + 1u], queries[next + 2u]);
    path_limit = queries[next + 3u];
    // -0 is a limit too.
    path_limit = select(path_limit, 0u, path_limit == SIGN);
    let kind = kind_of(path_low, path_high);
    let is_box = kind == KIND_FINITE || (kind == KIND_UNBOUNDED && query.words == 10u);
    let is_valid = is_box && all(are_finite(path_direction)) && path_limit <= INFINITY;

    let speed = path_direction & vec3<u32>(~SIGN);
    is_still = speed == vec3<u32>(0u);
    is_backward = path_direction > vec3<u32>(SIGN);
    let is_speed = is_still | ((speed >= vec3<u32>(SLOW_BITS)) & (speed <= vec3<u32>(USUAL_BITS)));
    is_usual = class_of(path_low, path_high) == 0u && all(is_speed);
    if is_usual {
        let low = bitcast<vec3<f32>>(path_low);
        let high = bitcast<vec3<f32>>(path_high);
        sight_reach = select(high, low, is_backward);
        sight_leave = select(low, high, is_backward);
        let inverse = 1.0 / bitcast<vec3<f32>>(select(path_direction, vec3<u32>(ONE), is_still));
        sight_inverse = select(inverse, vec3<f32>(0.0), is_still);
        still_axes = bits_of(vec4<bool>(is_still, false));
        let largest = max(max(abs(sight_inverse.x), abs(sight_inverse.y)), abs(sight_inverse.z));
        // 2^-123 of the largest, and of one.
        flushed = largest * 9.403955e-38 + 9.403955e-38;
        sight_limit = NEVER;
        if path_limit < bitcast<u32>(NEVER) {
            sight_limit = bitcast<f32>(path_limit);
        }
    }
    return is_valid;
}

// ---- without rounding ----

// When a face of the moving box is in the plane of another's: (plane - origin) / speed. Of speed 0 where it is so already.
struct Crossing {
    plane: u32,
    origin: u32,
    speed: u32,
}

fn compare_crossings(a: Crossing, b: Crossing) -> i32 {
    let numbers = vec4<u32>(a.plane, a.origin ^ SIGN, b.plane ^ SIGN, b.origin);
    return sign_of(sum_of_products(numbers, vec4<u32>(b.speed, b.speed, a.speed, a.speed)));
}

// Compares a time with a finite number.
fn compare_time(a: Crossing, time: u32) -> i32 {
    return sign_of(sum_of_products(vec4<u32>(a.plane, a.origin ^ SIGN, a.speed ^ SIGN, 0u), vec4<u32>(ONE, ONE, time, 0u)));
}

// Returns what the moving box has to reach last, of a box that it touches.
fn latest(low: vec3<u32>, high: vec3<u32>) -> Crossing {
    let plane = select(low, high ^ vec3<u32>(SIGN), is_backward);
    let origin = select(path_high, path_low ^ vec3<u32>(SIGN), is_backward);
    // An infinite plane is behind, or is never reached.
    let is_ahead = (ordered(plane) > ordered(origin)) & are_finite(plane) & are_finite(origin) & !is_still;
    var found = Crossing(0u, 0u, 0u);
    for (var k = 0u; k < 3u; k += 1u) {
        if is_ahead[k] {
            let own = Crossing(plane[k], origin[k], path_direction[k] & ~SIGN);
            if found.speed == 0u || compare_crossings(own, found) > 0 {
                found = own;
            }
        }
    }
    return found;
}

// Tells whether the moving box touches another.
fn enters(low: vec3<u32>, high: vec3<u32>) -> bool {
    let sign = vec3<u32>(SIGN);
    let touches = (ordered(low) <= ordered(path_high)) & (ordered(path_low) <= ordered(high));
    let plane = select(low, high ^ sign, is_backward);
    let origin = select(path_high, path_low ^ sign, is_backward);
    let leave_plane = select(high, low ^ sign, is_backward);
    let leave_origin = select(path_low, path_high ^ sign, is_backward);
    // An infinite plane is not reached, unless both are infinite on the same side or the boxes touch already.
    let opens = (ordered(plane) <= ordered(origin)) | (are_finite(plane) & are_finite(origin));
    let is_open = opens & (ordered(leave_plane) >= ordered(leave_origin));
    if any(ordered(low) > ordered(high)) || !all(select(is_open, touches, is_still)) {
        return false;
    }
    let last = latest(low, high);
    if last.speed == 0u {
        return true;
    }
    if path_limit < INFINITY && compare_time(last, path_limit) > 0 {
        return false;
    }
    let leaves = are_finite(leave_plane) & are_finite(leave_origin) & !is_still;
    for (var k = 0u; k < 3u; k += 1u) {
        if leaves[k] {
            if compare_crossings(last, Crossing(leave_plane[k], leave_origin[k], path_direction[k] & ~SIGN)) > 0 {
                return false;
            }
        }
    }
    return true;
}

// Compares when the path touches two boxes.
fn compare_boxes(own: BoxBits, other: BoxBits) -> i32 {
    let a = latest(own.low, own.high);
    let b = latest(other.low, other.high);
    if a.speed == 0u || b.speed == 0u {
        return select(0, 1, a.speed != 0u) - select(0, 1, b.speed != 0u);
    }
    return compare_crossings(a, b);
}
