// Whether the boxes of a pair overlap as they are now. Shared by the kernels that test pairs, which bind `params`, `boxes` and
// `filters`: half-spaces, if there are any. All else that filters say was said when a pair was found.

// Tells whether two boxes overlap, the first of which has the smaller index. Boxes without a number are no longer there.
fn do_meet(pair: vec2<u32>) -> bool {
    if pair.y >= params.box_count {
        return false;
    }
    let a = ordered_box(pair.x);
    let b = ordered_box(pair.y);
    // A box that became invalid is in no order, or is not a number.
    var meet = overlap(a, b) && is_valid_box(a) && is_valid_box(b);
    if HAS_HALF_SPACES {
        if meet {
            meet = half_spaces_meet(pair.x, pair.y);
        }
    }
    return meet;
}

// Tells whether a box is valid, in integers that NaNs are beyond.
fn is_valid_box(own: OrderedBox) -> bool {
    let infinity = vec3<i32>(0x7f800000);
    return all(own.min <= own.max) && all(own.min >= -infinity) && all(own.max <= infinity);
}
