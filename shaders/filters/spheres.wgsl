// The exact test of two boxes with spheres. One of the boxes may stand for a half-space. Shared, together with
// sphere_touch.wgsl, half_space.wgsl and exact_sum.wgsl, by the kernels that test pairs. The twin of
// `CheckedFilters::shapes_meet` in src/filters/predicate.rs.

// Returns whether the spheres of two boxes have a point in common; for a box and a half-space, whether the sphere
// touches the half-space.
fn spheres_meet(a: u32, b: u32) -> bool {
    if filter_layout.half_space_count != 0u {
        let a_is_half = bit_of(filter_layout.half_space_bits, a) == 1u;
        if a_is_half || bit_of(filter_layout.half_space_bits, b) == 1u {
            let nth = half_space_between(select(b, a, a_is_half), 0u, filter_layout.half_space_count);
            return half_space_meets_sphere(nth, sphere_of(select(a, b, a_is_half)));
        }
    }
    return spheres_touch(sphere_of(a), sphere_of(b));
}

// Returns whether half-space `nth` contains a point of a sphere: whether the centre is at most the radius above the
// plane.
fn half_space_meets_sphere(nth: u32, sphere: vec4<u32>) -> bool {
    if sphere.w >= 0x7f800000u {
        return sphere.w == 0x7f800000u;
    }
    let at = filter_layout.half_spaces + 4u * nth;
    // The height above the plane, times the normal's length, is the sum of the products.
    let plane = vec4<u32>(filters[at], filters[at + 1u], filters[at + 2u], filters[at + 3u] ^ 0x80000000u);
    let centre = vec4<u32>(sphere.xyz, ONE);
    if sign_of(sum_of_products(plane, centre)) <= 0 {
        return true;
    }
    return is_sum_at_most_zero(plane, centre, sphere.w, true);
}
