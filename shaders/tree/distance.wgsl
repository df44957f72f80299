// Computes the distance of a point from a box: in f32 if this suffices, otherwise exactly. Shared by the kernels that
// search around a point; they have `queries` [query_count * 4] in bits of f32: a point and a radius.
//
// In f32, a squared distance has at most six roundings of 2^-23, and subnormal numbers may be flushed to zero: ROUNDING
// and FLUSHED bound both errors for two squares together. f32 is used only for numbers of usual size, so that nothing
// overflows. The exact decisions are the twin of src/queries/distance.rs.

// 2^-19.
const ROUNDING: f32 = 1.9073486e-6;
// 2^-122.
const FLUSHED: f32 = 1.8807910e-37;
// Exceeds all squares of usual numbers.
const NEVER: f32 = 3e38;
// An upper bound of the loop turns of a comparison.
const DECISION: u32 = 20u;

fn decision_steps() -> u32 {
    return DECISION;
}

var<private> point: vec3<u32>;
var<private> radius: u32;
var<private> sight_point: vec3<f32>;
// The squared distance limit: from the radius, or from the last requested answer.
var<private> sight_limit: f32;
var<private> is_usual: bool;

// Returns an upper bound of the total error of two squares of about this size.
fn margin_of(square: f32) -> f32 {
    return square * ROUNDING + FLUSHED;
}

// Reads a query, and returns whether it is valid.
fn begin_shape(number: u32) -> bool {
    let at = 4u * number;
    point = vec3<u32>(queries[at], queries[at + 1u], queries[at + 2u]);
    radius = queries[at + 3u];
    radius = select(radius, 0u, radius == SIGN);
    let reach = point & vec3<u32>(~SIGN);
    is_usual = all(reach <= vec3<u32>(USUAL_BITS));
    sight_limit = NEVER;
    if is_usual {
        sight_point = bitcast<vec3<f32>>(point);
        // Four times the usual size: boxes of usual size are nearer than any larger radius.
        if radius <= USUAL_BITS + (2u << 23u) {
            sight_limit = bitcast<f32>(radius) * bitcast<f32>(radius);
        }
    }
    return all(reach < vec3<u32>(INFINITY)) && radius <= INFINITY;
}

// ---- exact ----

// Returns the nearest coordinate of a box along each axis; the point's own coordinate if it is inside.
fn ends_of(low: vec3<u32>, high: vec3<u32>) -> vec3<u32> {
    let above = select(point, high, ordered(high) < ordered(point));
    return select(above, low, ordered(low) > ordered(point));
}

// Adds the squared distance from the point to `ends`, or subtracts it with SIGN. (a - b)^2 is computed as a^2 - 2 a b +
// b^2.
fn add_square(ends: vec3<u32>, sign: u32) {
    for (var turn = 0u; turn < 9u; turn += 1u) {
        let end = ends[turn / 3u];
        let own = point[turn / 3u];
        if end != own {
            let part = turn % 3u;
            let is_middle = part == 1u;
            let flip = sign ^ select(0u, SIGN, is_middle);
            add_product(select(end, own, part == 2u) ^ flip, select(own, end, part == 0u), select(0u, 1u, is_middle));
        }
    }
}

// Compares the distances of two boxes from the point.
fn compare_boxes(a: BoxBits, b: BoxBits) -> i32 {
    let own = ends_of(a.low, a.high);
    let other = ends_of(b.low, b.high);
    if all(own == other) {
        return 0;
    }
    begin_sum();
    add_square(own, 0u);
    add_square(other, SIGN);
    return sign_of_sum();
}
