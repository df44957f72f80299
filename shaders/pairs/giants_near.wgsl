// Which giants of a group meet some bounds: shared by the kernels that join giants with rows of boxes, which bind boxes, counts and
// giants.

// A bit for each giant of a group.
const ALL_OF_GROUP: u32 = (1u << GIANT_GROUP) - 1u;

// Returns those of the giants `among` a group, which begins at number `first`, that meet these bounds: a bit for each.
fn giants_near(first: u32, among: u32, bounds: OrderedBox) -> u32 {
    var near = 0u;
    let there = ALL_OF_GROUP >> (GIANT_GROUP - min(counts.giant_count - first, GIANT_GROUP));
    for (var left = among & there; left != 0u; left &= left - 1u) {
        let k = firstTrailingBit(left);
        near |= select(0u, 1u << k, overlap(ordered_box(giants[first + k]), bounds));
    }
    if IS_FILTERED {
        near = without_half_spaces_apart(first, near, bounds);
    }
    return near;
}

// Leaves out giants that stand for half-spaces apart from the bounds: one that meets a box meets all bounds around it. Where there are no
// half-spaces, no loop has a turn.
fn without_half_spaces_apart(first: u32, among: u32, bounds: OrderedBox) -> u32 {
    let low = bitcast<vec3<u32>>(ordered(bitcast<vec3<u32>>(bounds.min)));
    let high = bitcast<vec3<u32>>(ordered(bitcast<vec3<u32>>(bounds.max)));
    var near = among;
    // Half-spaces ascend by box as giants do: between two giants there are at most as many of them as boxes.
    var before = giants[first];
    let count = select(0u, filter_layout.half_space_count, among != 0u);
    var nth = half_space_between(before, 0u, count);
    for (var left = select(0u, among, count != 0u); left != 0u; left &= left - 1u) {
        let k = firstTrailingBit(left);
        let giant = giants[first + k];
        nth = half_space_between(giant, nth, min(nth + giant - before + 1u, count));
        before = giant;
        if bit_of(filter_layout.half_space_bits, giant) == 1u {
            near &= ~select(1u << k, 0u, meets_half_space(nth, low, high));
        }
    }
    return near;
}
