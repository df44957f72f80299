// Computes the bounds of two balls of the same radius: exact sums, rounded outward and clamped to finite numbers. The
// twin of `ball_bounds`. Shared, with double.wgsl, by the kernels that bound round shapes.

fn are_finite(bits: vec3<u32>) -> bool {
    return all((bits & vec3<u32>(~SIGN)) < vec3<u32>(INFINITY));
}

// Returns whether a number is at least zero; infinity is allowed.
fn is_radius(bits: u32) -> bool {
    return bits <= INFINITY || bits == SIGN;
}

// True if a bound was infinite and was clamped.
var<private> is_cut: bool;

// Returns the bounds of two balls about finite points: six numbers, lower bounds first.
fn bounds_of_balls(one: vec3<u32>, other: vec3<u32>, radius: u32) -> array<u32, 6> {
    var bounds = array<u32, 6>();
    let reach = widened(radius & ~SIGN);
    let least = select(other, one, ordered(one) < ordered(other));
    let most = select(one, other, ordered(one) < ordered(other));
    for (var k = 0u; k < 6u; k += 1u) {
        // Lower bounds are computed as upper bounds of the mirrored shape.
        let mirrored = select(0u, SIGN, k < 3u);
        let end = select(most[k % 3u], least[k % 3u], k < 3u) ^ mirrored;
        let bound = narrowed_up(exact_sum(widened(end), reach));
        let reached = select(bound, INFINITY, radius == INFINITY);
        is_cut = is_cut || reached == INFINITY;
        bounds[k] = finite_bound(reached) ^ mirrored;
    }
    return bounds;
}
