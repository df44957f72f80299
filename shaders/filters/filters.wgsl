// The filters as a predicate of overlapping pairs. Shared by the kernels that test boxes, which bind the boxes;
// by_box.wgsl binds the lists. An absent list begins at ABSENT. Then all invocations take the same branch and read
// nothing.
//
// The twin of src/filters/predicate.rs. Kernels call `passes` after the exact test, since most candidates fail the
// exact test.
//
// Sources of the rules: MuJoCo's contype and conaffinity, and ODE's bits (RULE_ANY); Bullet's and rapier's groups
// (RULE_BOTH); MuJoCo's bodies and parents.

// True if there are spheres. Without them, none of their code is compiled.
override HAS_SPHERES: bool = false;

// Returns whether the pair of two overlapping boxes is reported. There is no short-circuit evaluation, since its
// branches diverge.
fn passes(a: u32, b: u32) -> bool {
    var retained = true;
    if (filter_layout.group & filter_layout.mask) != ABSENT {
        let a_meets = (of_box(filter_layout.mask, a, 0xffffffffu) & of_box(filter_layout.group, b, 0xffffffffu)) != 0u;
        let b_meets = (of_box(filter_layout.mask, b, 0xffffffffu) & of_box(filter_layout.group, a, 0xffffffffu)) != 0u;
        retained = select(a_meets | b_meets, a_meets & b_meets, filter_layout.rule == RULE_BOTH);
    }
    if (filter_layout.body & filter_layout.parent) != ABSENT {
        let body_a = of_box(filter_layout.body, a, a);
        let body_b = of_box(filter_layout.body, b, b);
        let parent_a = of_box(filter_layout.parent, a, NO_PARENT);
        let parent_b = of_box(filter_layout.parent, b, NO_PARENT);
        let is_child = ((parent_a == body_b) & (parent_a != NO_PARENT)) | ((parent_b == body_a) & (parent_b != NO_PARENT));
        retained &= (body_a != body_b) & !is_child;
    }
    if filter_layout.fixed != ABSENT {
        retained &= (bit_of(filter_layout.fixed, a) & bit_of(filter_layout.fixed, b)) == 0u;
    }
    if filter_layout.sleeping != ABSENT {
        retained &= (bit_of(filter_layout.sleeping, a) & bit_of(filter_layout.sleeping, b)) == 0u;
    }
    if filter_layout.second != ABSENT {
        retained &= bit_of(filter_layout.second, a) != bit_of(filter_layout.second, b);
    }
    if filter_layout.world != ABSENT {
        let world_a = filters[filter_layout.world + a];
        let world_b = filters[filter_layout.world + b];
        retained &= (world_a == world_b) | (world_a == WORLD_GLOBAL) | (world_b == WORLD_GLOBAL);
    }
    if filter_layout.listed_row_count != 0u {
        retained &= !is_listed(min(a, b), max(a, b));
    }
    if filter_layout.half_space_count != 0u {
        retained &= half_spaces_meet(a, b);
    }
    if filter_layout.owner != ABSENT {
        retained &= is_owned(a, b);
    }
    if HAS_SPHERES {
        retained = retained && spheres_meet(a, b);
    }
    return retained;
}

// Returns whether the pair, a < b, is excluded or included.
fn is_listed(a: u32, b: u32) -> bool {
    var low = 0u;
    var end = 0u;
    if a + 1u < filter_layout.listed_row_count {
        low = filters[filter_layout.listed_rows + a];
        end = filters[filter_layout.listed_rows + a + 1u];
    }
    // Find the first element of the row that is at least b.
    var high = end;
    while low < high {
        let middle = low + (high - low) / 2u;
        if filters[filter_layout.listed_others + middle] < b {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    var found = false;
    if low < end {
        found = filters[filter_layout.listed_others + low] == b;
    }
    return found;
}

// Returns whether two boxes meet as half-spaces: true if neither stands for a half-space, and otherwise the exact test.
// The prepared box of a half-space is the whole space.
fn half_spaces_meet(a: u32, b: u32) -> bool {
    let a_is_half = bit_of(filter_layout.half_space_bits, a);
    let b_is_half = bit_of(filter_layout.half_space_bits, b);
    var meet = (a_is_half & b_is_half) == 0u;
    if a_is_half != b_is_half {
        let half = select(b, a, a_is_half == 1u);
        let other = select(a, b, a_is_half == 1u);
        let nth = half_space_between(half, 0u, filter_layout.half_space_count);
        meet = meets_half_space(nth, min_bits_of(other), max_bits_of(other));
    }
    return meet;
}

// Returns whether a box with these bounds meets half-space `nth`.
fn meets_half_space(nth: u32, min_bits: vec3<u32>, max_bits: vec3<u32>) -> bool {
    let at = filter_layout.half_spaces + 4u * nth;
    let normal = vec3<u32>(filters[at], filters[at + 1u], filters[at + 2u]);
    return half_space_touches(normal, filters[at + 3u], min_bits, max_bits);
}

// Returns the index in [first, end) of the half-space for which box `i` stands. If there is none, returns the
// half-space of the next smaller box, or `first`.
fn half_space_between(i: u32, first: u32, end: u32) -> u32 {
    var low = first;
    var high = end;
    while low + 1u < high {
        let middle = low + (high - low) / 2u;
        if filters[filter_layout.half_space_boxes + middle] <= i {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Returns whether the owner region contains the lower corner of the intersection of two boxes: the larger of their
// lower bounds on each axis. The region is half-open. Its bounds are integers, so that `max` can be beyond infinity.
fn is_owned(a: u32, b: u32) -> bool {
    let at = filter_layout.owner;
    let region_min = vec3<i32>(vec3<u32>(filters[at], filters[at + 1u], filters[at + 2u]));
    let region_max = vec3<i32>(vec3<u32>(filters[at + 3u], filters[at + 4u], filters[at + 5u]));
    let corner = max(ordered(min_bits_of(a)), ordered(min_bits_of(b)));
    return all(region_min <= corner) & all(corner < region_max);
}
