// The bounds of two balls of one radius, as `Aabb::from_sphere` computes them: exact sums, rounded outward. Shared, with double.wgsl,
// by the kernels that bound what is round.

const BEYOND_FINITE: u32 = 0x7f800000u;
const MINUS: u32 = 0x80000000u;

fn are_finite(bits: vec3<u32>) -> bool {
    return all((bits & vec3<u32>(~MINUS)) < vec3<u32>(BEYOND_FINITE));
}

// Tells whether a number is at least zero, or may be infinite.
fn is_radius(bits: u32) -> bool {
    return bits <= BEYOND_FINITE || bits == MINUS;
}

// Returns the bounds of two balls about finite points: six numbers, the lower ones first.
fn bounds_of_balls(one: vec3<u32>, other: vec3<u32>, radius: u32) -> array<u32, 6> {
    var bounds = array<u32, 6>();
    let reach = widened(radius & ~MINUS);
    let least = select(other, one, ordered(one) < ordered(other));
    let most = select(one, other, ordered(one) < ordered(other));
    for (var k = 0u; k < 6u; k += 1u) {
        // The lower bounds are the upper ones of what is mirrored.
        let mirrored = select(0u, MINUS, k < 3u);
        let end = select(most[k % 3u], least[k % 3u], k < 3u) ^ mirrored;
        let bound = narrowed_up(exact_sum(widened(end), reach));
        bounds[k] = select(bound, BEYOND_FINITE, radius == BEYOND_FINITE) ^ mirrored;
    }
    return bounds;
}
