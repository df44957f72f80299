// The first answers of a query, in order, in a row of `rows`: the place of each box among the leaves, and how near it is in
// f32, or -1 where that is not known. Shared by the kernels that rank; they have `compare_boxes`, which is exact, and
// `doubt_of(near)` of two that are about as near as this.
// A row stays where it is while boxes are put into it: in variables of an invocation it would take more registers than a GPU has.
//
// Changes states   [query_count] what a query leaves for the next dispatch: the place from which it is resumed, or NOWHERE;
//                  the length of its row; how near the last answer is, in bits of f32; and the place of the last
//                  answer of the row before, or NOWHERE. Where more answers are asked for than rows have, one row
//                  comes after the other.

// Whether one answer is asked for.
override IS_SINGLE: bool = false;

// That answer so far.
var<private> single_place: u32;
var<private> single_id: u32;
var<private> single_near: f32;
var<private> row_first: u32;
var<private> row_count: u32;
// The place of the box behind which this row begins, or NOWHERE.
var<private> row_after: u32;

// Begins or resumes the row of a query, and returns the place from which it walks.
fn begin_row(number: u32) -> u32 {
    row_first = number * query.most;
    row_count = 0u;
    row_after = NOWHERE;
    var left_at = AGAIN;
    if query.is_resumed == 1u {
        let state = states[number];
        left_at = state.x;
        row_count = select(state.y, 0u, left_at == AGAIN);
        row_after = state.w;
        // In doubt, a row may have had a box in a wrong place.
        if left_at != AGAIN {
            sight_limit = min(sight_limit, bitcast<f32>(state.z));
        }
    } else if query.is_next_row == 1u {
        row_after = rows[row_first + query.most - 1u].x;
        left_at = select(AGAIN, NOWHERE, states[number].y < query.most);
    }
    return begin_walk(left_at);
}

// Leaves the row as it is for the next dispatch.
fn end_row(number: u32) {
    // What was ranked in another order would come twice.
    if is_ordered && resumed_at == 0u {
        row_count = 0u;
    }
    if !IS_EXACT && IS_SINGLE && row_count == 1u {
        rows[row_first] = vec2<u32>(single_place, bitcast<u32>(single_near));
    }
    states[number] = vec4<u32>(resumed_at, row_count, bitcast<u32>(sight_limit), row_after);
}

// Tells whether a box comes before the box at a place, about as near as `other_near`: by what is compared, then by index.
fn comes_before(own: BoxBits, id: u32, near: f32, other: u32, other_near: f32) -> bool {
    // No nearness is less, and of this one there is no doubt.
    if near == 0.0 && other_near == 0.0 {
        return id < id_at(other);
    }
    if near >= 0.0 && other_near >= 0.0 {
        let doubt = doubt_of(max(near, other_near));
        if near < other_near - doubt {
            return true;
        }
        if near > other_near + doubt {
            return false;
        }
    }
    if !IS_EXACT {
        is_doubtful = true;
        return false;
    }
    spent += DECISION;
    let order = compare_boxes(own, box_at(other));
    return order < 0 || (order == 0 && id < id_at(other));
}

// Puts a box in its place in the row, if it is among the first.
fn take(place: u32, id: u32, own: BoxBits, near: f32) {
    if !IS_EXACT && IS_SINGLE {
        take_single(place, id, near);
        return;
    }
    if place == row_after {
        return;
    }
    // First whether it comes behind the row before, then the first of this row that it comes before; in few comparisons, since they are
    // dear where they are exact. Both ask in one place, since compilers write out what is called in each.
    var first = 0u;
    var end = row_count;
    var is_behind = row_after == NOWHERE;
    while first < end || !is_behind {
        let middle = first + (end - first) / 2u;
        spent += 1u;
        var answer = vec2<u32>(row_after, bitcast<u32>(-1.0));
        if is_behind {
            answer = rows[row_first + middle];
        }
        let is_before = comes_before(own, id, near, answer.x, bitcast<f32>(answer.y));
        if !is_behind {
            if is_before {
                return;
            }
            is_behind = true;
        } else if is_before {
            end = middle;
        } else {
            first = middle + 1u;
        }
    }
    if first >= query.most || is_doubtful {
        return;
    }
    row_count = min(row_count + 1u, query.most);
    spent += row_count - first;
    for (var turn = row_count - 1u; turn > first; turn -= 1u) {
        rows[row_first + turn] = rows[row_first + turn - 1u];
    }
    rows[row_first + first] = vec2<u32>(place, bitcast<u32>(near));
    if row_count == query.most {
        let last_near = bitcast<f32>(rows[row_first + row_count - 1u].y);
        if last_near >= 0.0 {
            sight_limit = min(sight_limit, last_near);
        }
    }
}

// Keeps a box if it is the first, in no memory.
fn take_single(place: u32, id: u32, near: f32) {
    let doubt = doubt_of(max(near, single_near));
    let are_equal = row_count == 1u && near == 0.0 && single_near == 0.0;
    let is_nearer = select(near < single_near - doubt, id < single_id, are_equal);
    let is_first = row_count == 0u || is_nearer;
    is_doubtful |= !is_first && !are_equal && near <= single_near + doubt;
    single_place = select(single_place, place, is_first);
    single_id = select(single_id, id, is_first);
    single_near = select(single_near, near, is_first);
    sight_limit = select(sight_limit, min(sight_limit, near), is_first);
    row_count = 1u;
}

fn is_done() -> bool {
    return is_doubtful;
}

// ---- children that wait ----

// How near each child is, in the upper half of its bits but for the sign: of the first four in the lower halves. What does not
// wait has 0xffff.
alias Waiting = vec4<u32>;

const NONE_WAIT: Waiting = vec4<u32>(0xffffffffu);

fn waiting_of(bits: u32, seen: Seen) -> Waiting {
    let of_a = vec4<u32>(1u, 2u, 4u, 8u);
    let of_b = vec4<u32>(16u, 32u, 64u, 128u);
    let all_bits = vec4<u32>(bits);
    // Without an order, all are equally near: then they come by their numbers. So are vast ones, since they may be anywhere.
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
    // Rounded down, and so are the distances that it was made of.
    let near = bitcast<f32>((next & 0xffff0000u) >> 1u);
    return next >= 0xffff0000u || near > sight_limit + doubt_of(sight_limit);
}
