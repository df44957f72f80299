// Reads a moving ball or capsule. Shared, with path.wgsl and double.wgsl, by the kernels that cast. The words of a
// query are its bounds, as a moving box, then both ends of the segment and the radius.

// True if the shape is a ball or a capsule with finite numbers, and not a point. Other shapes equal their bounds.
var<private> is_round: bool;
var<private> round_from: vec3<u32>;
var<private> round_to: vec3<u32>;
var<private> round_radius: u32;
// The vector from one end to the other, in 64 bits.
var<private> along_low: vec3<u32>;
var<private> along_high: vec3<u32>;

// Reads the shape of a query, whose words begin at `at`.
fn begin_round(at: u32) {
    let first = at + BOX_CAST_U32_COUNT;
    round_from = vec3<u32>(queries[first], queries[first + 1u], queries[first + 2u]);
    round_to = vec3<u32>(queries[first + 3u], queries[first + 4u], queries[first + 5u]);
    round_radius = queries[first + 6u];
    round_radius = select(round_radius, 0u, round_radius == SIGN);
    is_round = round_radius < INFINITY && (round_radius > 0u || any(ordered(round_from) != ordered(round_to)));
    for (var k = 0u; k < 3u; k += 1u) {
        let along = sum(widened(round_to[k]), negative(widened(round_from[k])));
        along_low[k] = along.x;
        along_high[k] = along.y;
    }
}
