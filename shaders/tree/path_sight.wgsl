// Tests in f32 whether a path touches boxes by the time `sight_limit`. Shared by the kernels that walk along paths,
// together with path.wgsl and walk.wgsl.

// True if paths skip boxes that they touch at the start and separate from.
override SKIPS_SEPARATING: bool = false;

// Turns of loops of a decision.
const DECISION: u32 = 12u;

fn decision_steps() -> u32 {
    return DECISION;
}

// Returns for each axis whether the path does not move along it.
fn is_still() -> vec3<bool> {
    return path_direction == vec3<u32>(0u);
}

fn see(at: u32) -> Seen {
    if !is_usual {
        return Seen(0u, 0xffu, vec4<f32>(0.0), vec4<f32>(0.0));
    }
    let head = nodes[at];
    // The time of a plane is `reach` or `leave`, plus the plane's steps from the origin times `scale`. `scale` is 0
    // along axes without motion. These values are rounded. The margin for the largest terms, of up to 255 steps,
    // exceeds the errors.
    let scale = step_sizes(head) * sight_inverse;
    let origin = bitcast<vec3<f32>>(head.xyz);
    let from_origin = (origin - bitcast<vec3<f32>>(path_front)) * sight_inverse;
    let to_origin = (origin - bitcast<vec3<f32>>(path_rear)) * sight_inverse;
    let error = (max(abs(from_origin), abs(to_origin)) + 255.0 * abs(scale)) * ROUNDING + (flushed + FLUSHED_STEPS);
    let reach = from_origin - error;
    let leave = select(to_origin + error, vec3<f32>(NEVER), is_still());
    let backward = is_backward();
    var near_a = vec4<f32>(0.0);
    var near_b = near_a;
    var far_a = vec4<f32>(sight_limit + margin_of(sight_limit));
    var far_b = far_a;
    let x = nodes[at + 1u];
    let y = nodes[at + 2u];
    let z = nodes[at + 3u];
    for (var k = 0u; k < 3u; k += 1u) {
        let words = select(select(z, y, k == 1u), x, k == 0u);
        let first = select(words.xy, words.zw, backward[k]);
        let last = select(words.zw, words.xy, backward[k]);
        near_a = max(near_a, vec4<f32>(bytes_of(first.x)) * scale[k] + reach[k]);
        near_b = max(near_b, vec4<f32>(bytes_of(first.y)) * scale[k] + reach[k]);
        far_a = min(far_a, vec4<f32>(bytes_of(last.x)) * scale[k] + leave[k]);
        far_b = min(far_b, vec4<f32>(bytes_of(last.y)) * scale[k] + leave[k]);
    }
    var met = bits_of(near_a <= far_a) | (bits_of(near_b <= far_b) << 4u);
    var still = still_axes;
    while still != 0u {
        let k = firstTrailingBit(still);
        still &= still - 1u;
        let words = select(select(z, y, k == 1u), x, k == 0u);
        met &= touching_along(words, origin[k], step_sizes(head)[k], k);
        spent += 1u;
    }
    let vast = vast_children(head);
    return Seen(met & ~vast, vast, near_a, near_b);
}

// Returns a bit per child: set if the path touches it along an axis without motion. The child's first step must be at
// most the last step of the path, and the reverse. Steps of the path are rounded outward.
fn touching_along(words: vec4<u32>, origin: f32, size: f32, k: u32) -> u32 {
    let per_size = bitcast<f32>((254u << 23u) - bitcast<u32>(size));
    let first = u32(ceil(clamp(bitcast<f32>(path_rear[k]) - origin, size, 255.0 * size) * per_size));
    let last = u32(floor(clamp(bitcast<f32>(path_front[k]) - origin, 0.0, 254.0 * size) * per_size));
    // Compare two bytes at a time, with a guard bit above each byte.
    let even = vec4<u32>(0x00ff00ffu);
    let guard_bits = vec2<u32>(0x01000100u);
    let evens = words & even;
    let odds = (words >> vec4<u32>(8u)) & even;
    let first_steps = vec2<u32>(first * 0x00010001u);
    let last_steps = vec2<u32>(last * 0x00010001u) | guard_bits;
    let of_evens = (last_steps - evens.xy) & ((evens.zw | guard_bits) - first_steps) & guard_bits;
    let of_odds = (last_steps - odds.xy) & ((odds.zw | guard_bits) - first_steps) & guard_bits;
    // Children 0 and 2 are in bits 8 and 24, and so on.
    let four = ((of_evens >> vec2<u32>(8u)) & vec2<u32>(1u)) | ((of_evens >> vec2<u32>(22u)) & vec2<u32>(4u))
        | ((of_odds >> vec2<u32>(7u)) & vec2<u32>(2u)) | ((of_odds >> vec2<u32>(21u)) & vec2<u32>(8u));
    return four.x | (four.y << 4u);
}

// Returns exactly whether the path touches a box at the start.
fn touches_at_start(own: BoxBits) -> bool {
    let low = ordered(select(path_rear, path_front, is_backward()));
    let high = ordered(select(path_front, path_rear, is_backward()));
    return all((ordered(own.low) <= high) & (low <= ordered(own.high)));
}

// Returns whether the path touches a box by the time `sight_limit` and does not skip the box. `near` is 0 only if the
// path is proven to touch the box at the start.
fn sight_of(own: BoxBits) -> Sight {
    if SKIPS_SEPARATING && touches_at_start(own) {
        if IS_ROUND && is_round {
            // A round shape may touch later than its bounds.
            return Sight(false, false, -1.0);
        }
        spent += 6u * DECISION;
        if separates(own) {
            return Sight(true, false, -1.0);
        }
    }
    if !is_usual || class_of(own.low, own.high) != 0u {
        return Sight(is_none(own), false, -1.0);
    }
    let first = bitcast<vec3<f32>>(select(own.low, own.high, is_backward()));
    let last = bitcast<vec3<f32>>(select(own.high, own.low, is_backward()));
    let reached = select((first - bitcast<vec3<f32>>(path_front)) * sight_inverse, vec3<f32>(-NEVER), is_still());
    let exits = select((last - bitcast<vec3<f32>>(path_rear)) * sight_inverse, vec3<f32>(NEVER), is_still());
    let from_first = max(max(reached.x, reached.y), reached.z);
    let far = min(min(exits.x, exits.y), exits.z);
    // Along an axis without motion, the front is the upper plane.
    let overlaps = (ordered(own.low) <= ordered(path_front)) & (ordered(path_rear) <= ordered(own.high));
    let touches = all(overlaps | !is_still());
    let is_first = from_first < -flushed;
    let near = max(from_first, 0.0);
    let error = margin_of(max(near, abs(min(far, sight_limit))));
    let is_missed = (near - error > min(far, sight_limit)) | !touches;
    let is_in_time = (near + error < sight_limit) | is_first;
    let is_proven = (near + error < far) & is_in_time & touches;
    return Sight(is_missed, is_proven, select(max(near, flushed), 0.0, is_first));
}

fn decide(own: BoxBits) -> bool {
    return enters(own.low, own.high);
}
