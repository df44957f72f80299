// The set of waiting children of a node, visited from the nearest on. Shared by the kernels that rank, together with
// walk.wgsl; they have `margin_of(near)`, and `sight_limit`, the largest distance of a child.

// The distance of each child, as the upper half of its bits without the sign. The first four children are in the lower
// halves of the words. A child that does not wait has 0xffff.
alias Waiting = vec4<u32>;

const NONE_WAIT: Waiting = vec4<u32>(0xffffffffu);

fn waiting_of(bits: u32, seen: Seen) -> Waiting {
    let of_a = vec4<u32>(1u, 2u, 4u, 8u);
    let of_b = vec4<u32>(16u, 32u, 64u, 128u);
    let all_bits = vec4<u32>(bits);
    // Without an order, all children have the same distance, and are visited by index. So do vast children, which may
    // be anywhere.
    let unknown = vec4<u32>(select(seen.vast, 0xffu, !is_ordered));
    let bits_a = (bitcast<vec4<u32>>(seen.near_a) << vec4<u32>(1u)) >> vec4<u32>(16u);
    let bits_b = (bitcast<vec4<u32>>(seen.near_b) << vec4<u32>(1u)) & vec4<u32>(0xffff0000u);
    let near_a = select(vec4<u32>(0u), bits_a, (unknown & of_a) == vec4<u32>(0u));
    let near_b = select(vec4<u32>(0u), bits_b, (unknown & of_b) == vec4<u32>(0u));
    let a = select(near_a, vec4<u32>(0xffffu), (all_bits & of_a) == vec4<u32>(0u));
    let b = select(near_b, vec4<u32>(0xffff0000u), (all_bits & of_b) == vec4<u32>(0u));
    return a | b;
}

fn next_of(waiting: Waiting) -> u32 {
    let a = (waiting << vec4<u32>(16u)) | vec4<u32>(0u, 1u, 2u, 3u);
    let b = (waiting & vec4<u32>(0xffff0000u)) | vec4<u32>(4u, 5u, 6u, 7u);
    let nearest = min(a, b);
    return min(min(nearest.x, nearest.y), min(nearest.z, nearest.w));
}

fn without(waiting: Waiting, next: u32) -> Waiting {
    let half = select(0xffffu, 0xffff0000u, (next & 4u) != 0u);
    return waiting | select(vec4<u32>(0u), vec4<u32>(half), vec4<u32>(next & 3u) == vec4<u32>(0u, 1u, 2u, 3u));
}

fn do_wait(waiting: Waiting) -> bool {
    return any(waiting != NONE_WAIT);
}

fn is_beyond(next: u32) -> bool {
    // The distance is rounded down, as the distances from which it is derived.
    let near = bitcast<f32>((next & 0xffff0000u) >> 1u);
    return next >= 0xffff0000u || near > sight_limit + margin_of(sight_limit);
}
