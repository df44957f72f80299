// The first answers of a query, in order, in a row of `rows`: the place of each box among the leaves, and its rank. Shared by the
// kernels that rank; they have `compare_boxes`, which is exact, and `doubt_of(near)` of two that are about as near as this.
// A rank says how near a box is: in bits of f32; where that is surely zero, which box it is, with RANK_ZERO; or UNRANKED. So where two are
// at distance zero, ranks alone say which of them is first; and as signed numbers ranks are in the order of what f32 says.
// A row stays where it is while boxes are put into it: in variables of an invocation it would take more registers than a GPU has.
// A dispatch that goes on with a row, or begins one behind another, decides (IS_EXACT).
//
// Changes states   [query_count] what a query leaves for the next dispatch: the place from which it is resumed, or NOWHERE;
//                  the length of its row; the limit of what matters, in bits of f32; and the place of the last
//                  answer of the row before, or NOWHERE. Where more answers are asked for than rows have, one row
//                  comes after the other.

const RANK_ZERO: u32 = 0x80000000u;
const UNRANKED: u32 = 0xffffffffu;

// Nearest boxes are not shared: each limits where others may be.
const IS_SHARED: bool = false;

// Whether one answer is asked for.
override IS_SINGLE: bool = false;

// Which of two boxes comes first. Neither where that is in doubt.
struct Order {
    is_before: bool,
    is_behind: bool,
}

// That answer so far.
var<private> single_place: u32;
var<private> single_near: f32;
var<private> row_first: u32;
var<private> row_count: u32;
// The place of the box behind which this row begins, or NOWHERE.
var<private> row_after: u32;

// The limit with which this dispatch began.
var<private> limit_before: f32;

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
        // As many boxes as are asked for are no farther, whether their order was in doubt or not; if so many were found.
        sight_limit = min(sight_limit, bitcast<f32>(state.z));
    } else if query.is_next_row == 1u {
        row_after = rows[row_first + query.most - 1u].x;
        left_at = select(AGAIN, NOWHERE, states[number].y < query.most);
    }
    limit_before = sight_limit;
    return begin_walk(left_at);
}

// Leaves the row as it is for the next dispatch.
fn end_row(number: u32) {
    if !IS_EXACT && IS_SINGLE && row_count == 1u {
        rows[row_first] = vec2<u32>(single_place, rank_of(single_near, id_at(single_place)));
    }
    if !IS_EXACT && !IS_SINGLE && resumed_at == NOWHERE {
        sort_row();
        // Which of two answers comes first may be in doubt still.
        if is_doubtful {
            resumed_at = AGAIN;
        }
    }
    // What was ranked in another order would come twice. With a limit that is much less, the nearest come first once more.
    let begins_again = is_ordered && resumed_at == 0u;
    if begins_again && sight_limit < 0.9 * limit_before {
        resumed_at = AGAIN;
    }
    row_count = select(row_count, 0u, begins_again);
    states[number] = vec4<u32>(resumed_at, row_count, bitcast<u32>(sight_limit), row_after);
}

// Returns the rank of a box that is so near; -1 where that is not known.
fn rank_of(near: f32, id: u32) -> u32 {
    return select(select(bitcast<u32>(near), RANK_ZERO | id, near == 0.0), UNRANKED, near < 0.0);
}

// Returns how near a box of this rank is; -1 where that is not known.
fn near_of(rank: u32) -> f32 {
    return select(select(bitcast<f32>(rank), 0.0, rank >= RANK_ZERO), -1.0, rank == UNRANKED);
}

// Compares two boxes by their ranks: which comes first, if it is sure. A box that was seen before comes behind itself.
fn comes_surely(own: u32, other: u32) -> Order {
    let near = near_of(own);
    let other_near = near_of(other);
    let are_zero = near == 0.0 && other_near == 0.0;
    let are_known = near >= 0.0 && other_near >= 0.0;
    let doubt = doubt_of(max(near, other_near));
    let is_before = select(near < other_near - doubt, own < other, are_zero);
    let is_behind = select(near > other_near + doubt, own >= other, are_zero);
    return Order(is_before && are_known, is_behind && are_known);
}

// Compares two ranks that are known, and takes note where that is in doubt. Whether it is or not, ranks have one order, so that what
// comes last in it is as far as any other, as f32 computes it.
fn ranks_before(own: u32, other: u32) -> bool {
    let order = comes_surely(own, other);
    is_doubtful |= !order.is_before && !order.is_behind;
    return bitcast<i32>(own) < bitcast<i32>(other);
}

// Puts a box in its place in the row, if it is among the first.
fn take(place: u32, own: BoxBits, near: f32) {
    if !IS_EXACT && IS_SINGLE {
        take_single(place, near);
        return;
    }
    if place == row_after {
        return;
    }
    let id = id_at(place);
    let rank = rank_of(near, id);
    if IS_EXACT {
        put(place, id, own, rank);
    } else {
        put_by_rank(place, rank);
    }
    if row_count == query.most {
        let last_near = near_of(rows[row_first + select(0u, row_count - 1u, IS_EXACT)].y);
        if last_near >= 0.0 {
            sight_limit = min(sight_limit, last_near);
        }
    }
}

// Puts a box into the row by its rank; in place of the last one, where the row is full. Rows that are full are heaps meanwhile, with
// the last one in front: which of the others comes first is left open until the end.
fn put_by_rank(place: u32, rank: u32) {
    var sinking = select(0u, query.most / 2u, row_count + 1u == query.most);
    var to = row_count;
    if row_count == query.most {
        if !ranks_before(rank, rows[row_first].y) {
            return;
        }
        sinking = 1u;
        to = 0u;
    }
    rows[row_first + to] = vec2<u32>(place, rank);
    row_count = min(row_count + 1u, query.most);
    make_heap(sinking, row_count);
}

// Makes the row a heap, in which the boxes from number `sinking` on have none under them that comes behind them.
fn make_heap(sinking: u32, count: u32) {
    for (var at = sinking; at > 0u; at -= 1u) {
        sink(at - 1u, count);
    }
}

// Exchanges a box of the heap with the later one of the two under it, as long as that comes behind it.
fn sink(top: u32, count: u32) {
    let own = rows[row_first + top];
    var at = top;
    var below = 2u * top + 1u;
    spent += 1u;
    while below < count {
        spent += 1u;
        var later = rows[row_first + below];
        if below + 1u < count {
            let beside = rows[row_first + below + 1u];
            if ranks_before(later.y, beside.y) {
                later = beside;
                below += 1u;
            }
        }
        if ranks_before(own.y, later.y) {
            rows[row_first + at] = later;
            at = below;
            below = 2u * at + 1u;
        } else {
            below = count;
        }
    }
    rows[row_first + at] = own;
}

// Puts the row in order.
fn sort_row() {
    make_heap(row_count / 2u, row_count);
    for (var count = row_count; count > 1u; count -= 1u) {
        let last = rows[row_first];
        rows[row_first] = rows[row_first + count - 1u];
        rows[row_first + count - 1u] = last;
        sink(0u, count - 1u);
    }
}

// Tells whether a box comes before the box at a place, of this rank: by what is compared, then by index.
fn comes_before(own: BoxBits, id: u32, rank: u32, other: u32, other_rank: u32) -> bool {
    let order = comes_surely(rank, other_rank);
    if order.is_before || order.is_behind {
        return order.is_before;
    }
    spent += DECISION;
    let compared = compare_boxes(own, box_at(other));
    return compared < 0 || (compared == 0 && id < id_at(other));
}

fn move_back(to: u32, is_there: bool) {
    if is_there {
        rows[to] = rows[to - 1u];
    }
}

// Puts a box in its place in the row, without a doubt.
fn put(place: u32, id: u32, own: BoxBits, rank: u32) {
    // First whether it comes behind the row before, then the first of this row that it comes before; in few comparisons, since they are
    // dear where they are exact. Both ask in one place, since compilers write out what is called in each.
    var first = 0u;
    var end = row_count;
    var is_behind = row_after == NOWHERE;
    while first < end || !is_behind {
        let middle = first + (end - first) / 2u;
        spent += 1u;
        var answer = vec2<u32>(row_after, UNRANKED);
        if is_behind {
            answer = rows[row_first + middle];
        }
        let is_before = comes_before(own, id, rank, answer.x, answer.y);
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
    if first >= query.most {
        return;
    }
    row_count = min(row_count + 1u, query.most);
    spent += (row_count - first) / 4u + 1u;
    // Those behind it go one farther, from the last on, four in each turn.
    var behind = row_count - 1u - first;
    while behind > 0u {
        let to = row_first + first + behind;
        move_back(to, behind > 0u);
        move_back(to - 1u, behind > 1u);
        move_back(to - 2u, behind > 2u);
        move_back(to - 3u, behind > 3u);
        behind -= min(behind, 4u);
    }
    rows[row_first + first] = vec2<u32>(place, rank);
}

// Keeps a box if it is the first, in no memory. Ids are read only where they decide.
fn take_single(place: u32, near: f32) {
    let doubt = doubt_of(max(near, single_near));
    let are_equal = row_count == 1u && near == 0.0 && single_near == 0.0;
    var is_nearer = near < single_near - doubt;
    if are_equal {
        is_nearer = id_at(place) < id_at(single_place);
    }
    let is_first = row_count == 0u || is_nearer;
    is_doubtful |= !is_first && !are_equal && near <= single_near + doubt;
    single_place = select(single_place, place, is_first);
    single_near = select(single_near, near, is_first);
    sight_limit = select(sight_limit, min(sight_limit, near), is_first);
    row_count = 1u;
}

// A row in doubt goes on, for its limit.
fn is_done() -> bool {
    return IS_SINGLE && is_doubtful;
}
