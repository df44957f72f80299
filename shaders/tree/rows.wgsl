// The first answers of a query, in order, in a row of `rows`: the place of each box among the leaves, and its rank. Shared by the
// kernels that rank, together with walk.wgsl; they have
//
//   compare_boxes(own, other)    which is nearer, exactly
//   margin_of(near)               by how much f32 may be wrong about two that are about as near as this
//   are_ranks_exact()             true if f32 is never wrong: where IS_ROUND
//   complete_row()               puts a row in order whose walk has ended
//
// A rank is the distance of a box, in bits of f32; if that is proven zero, the number of the box, with RANK_ZERO; or UNRANKED. So where two are
// at distance zero, ranks alone decide the first; and as signed numbers ranks are in the order of f32.
// A row stays where it is while boxes are put into it: in variables of an invocation it would take more registers than a GPU has.
// A dispatch that goes on with a row, or begins one behind another, decides (IS_EXACT).
//
// Changes rows     [query_count * most] the places of the answers, and their ranks
//         states   [query_count] what a query leaves for the next dispatch: the length of its row; the place of the last
//                  answer of the row before, or NOWHERE; the place from which it is resumed, or NOWHERE; and the limit of what
//                  matters, in bits of f32. Where more answers are requested than rows have, one row comes after the other.

const UNRANKED: u32 = 0xffffffffu;

@group(0) @binding(7) var<storage, read_write> rows: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> states: array<vec4<u32>>;

const IS_RANKED: bool = true;

// The order of two boxes. Neither is set if it is undecided.
struct Order {
    is_before: bool,
    is_behind: bool,
}

var<private> row_first: u32;
var<private> row_count: u32;
// The place of the box behind which this row begins, or NOWHERE.
var<private> row_after: u32;
// Its rank, where ranks are exact.
var<private> row_after_rank: u32;

// The limit with which this dispatch began.
var<private> limit_before: f32;

// Nearest boxes are not shared: each limits where others may be.
fn is_shared() -> bool {
    return false;
}

// Ranks the boxes that a query meets.
fn rank_boxes(turn: u32) {
    if turn >= query.query_count {
        return;
    }
    let number = order[turn];
    let is_valid = begin_shape(number);
    let place = begin_row(number);
    if !is_valid {
        resumed_at = INVALID_QUERY;
    } else if place != NOWHERE {
        walk_ranges(begin_query(number), place);
    }
    complete_row();
    end_row(number);
}

// Begins or resumes the row of a query, and returns the place from which it walks.
fn begin_row(number: u32) -> u32 {
    row_first = number * query.most;
    row_count = 0u;
    row_after = NOWHERE;
    var left_at = AGAIN;
    if has_flag(QUERY_RESUMED) {
        let state = states[number];
        left_at = state.z;
        row_count = select(state.x, 0u, left_at == AGAIN);
        row_after = state.y;
        // As many boxes as are requested are no farther, whether their order was undecided or not; if so many were found.
        sight_limit = min(sight_limit, bitcast<f32>(state.w));
    } else if has_flag(QUERY_NEXT_ROW) {
        row_after = rows[row_first + query.most - 1u].x;
        left_at = select(AGAIN, NOWHERE, states[number].x < query.most);
    }
    limit_before = sight_limit;
    own_boxes = 0xffu;
    let place = begin_walk(left_at);
    if IS_ROUND {
        row_after_rank = UNRANKED;
        first_place = select(NOWHERE, row_after, are_ranks_exact());
    }
    return place;
}

// Leaves the row as it is for the next dispatch.
fn end_row(number: u32) {
    // An answer ranked in another order would come twice. With a limit that is much less, the nearest come first once more.
    let begins_again = is_ordered && resumed_at == 0u;
    if begins_again && sight_limit < 0.9 * limit_before {
        resumed_at = AGAIN;
    }
    row_count = select(row_count, 0u, begins_again);
    states[number] = vec4<u32>(row_count, row_after, resumed_at, bitcast<u32>(sight_limit));
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
    var error = margin_of(max(near, other_near));
    if IS_ROUND {
        error = select(error, 0.0, are_ranks_exact());
    }
    let is_before = select(near < other_near - error, own < other, are_zero);
    let is_behind = select(near > other_near + error, own >= other, are_zero);
    return Order(is_before && are_known, is_behind && are_known);
}

// Returns whether a box comes before the box at a place, of this rank: by what is compared, then by index.
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

// Puts a box in its place in the row, if it is among the first.
fn put(place: u32, own: BoxBits, near: f32) {
    if place == row_after {
        if IS_ROUND {
            row_after_rank = rank_of(near, id_at(place));
        }
        return;
    }
    let id = id_at(place);
    put_in_order(place, id, own, rank_of(near, id));
    limit_by(row_count - 1u);
}

// Bounds what matters by an answer of a row that is full: the last one.
fn limit_by(last: u32) {
    if row_count == query.most {
        let near = near_of(rows[row_first + last].y);
        if near >= 0.0 {
            sight_limit = min(sight_limit, near);
        }
    }
}

// Puts a box in its place in the row, exactly.
fn put_in_order(place: u32, id: u32, own: BoxBits, rank: u32) {
    // First whether it comes behind the row before, then the first of this row that it comes before; in few comparisons, since they are
    // dear where they are exact. Both compare in one place, since compilers write out what is called in each.
    var first = 0u;
    var end = row_count;
    var is_behind = row_after == NOWHERE;
    while first < end || !is_behind {
        let middle = first + (end - first) / 2u;
        spent += 1u;
        var answer = vec2<u32>(row_after, UNRANKED);
        if IS_ROUND {
            answer.y = row_after_rank;
        }
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
