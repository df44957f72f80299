// Collects the first answers of a query, sorted, in a row of `rows`: the place of each box among the leaves, and its
// rank. Shared by the kernels that rank, together with walk.wgsl; they have
//
//   compare_boxes(own, other)    the exact order of two boxes
//   margin_of(near)               the largest error of f32 for two distances of about this size
//   are_ranks_exact()             true if f32 is exact: with IS_ROUND
//   complete_row()               sorts a row whose walk has ended
//
// A rank is the distance of a box, in bits of f32. If the distance is proven to be zero, it is the index of the box
// with RANK_ZERO. If the distance is unknown, it is UNRANKED. So ranks also order boxes at distance zero, and as signed
// numbers, ranks are in the order of f32. A row is in memory, since a GPU has too few registers. A dispatch that
// resumes a row, or begins a further row, decides undecided boxes (IS_EXACT).
//
// Changes rows     [query_count * most] the places of the answers, and their ranks
//         states   [query_count] the state for the next dispatch: the length of the row; the place of the last answer
//                  of the row before, or NOWHERE; the resume place, or NOWHERE; and the distance limit, in bits of f32.
//                  If more answers are requested than a row has, one row comes after the other.

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
// The place of the last box of the previous row, or NOWHERE.
var<private> row_after: u32;
// The rank of this box, if ranks are exact.
var<private> row_after_rank: u32;

// The limit at the begin of this dispatch.
var<private> limit_before: f32;

// Ranked queries are not shared, since each found box limits the search for others.
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
        // If all requested boxes were found, no answer is farther than this limit, even if their order is undecided.
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

// Stores the state of the row for the next dispatch.
fn end_row(number: u32) {
    // A resumed walk must have the order of places, since in another order an answer would come twice. With a much
    // smaller limit, the walk begins again, with the nearest boxes first.
    let begins_again = is_ordered && resumed_at == 0u;
    if begins_again && sight_limit < 0.9 * limit_before {
        resumed_at = AGAIN;
    }
    row_count = select(row_count, 0u, begins_again);
    states[number] = vec4<u32>(row_count, row_after, resumed_at, bitcast<u32>(sight_limit));
}

// Returns the rank of a box at this distance; `near` is -1 if unknown.
fn rank_of(near: f32, id: u32) -> u32 {
    return select(select(bitcast<u32>(near), RANK_ZERO | id, near == 0.0), UNRANKED, near < 0.0);
}

// Returns the distance of a box with this rank; -1 if unknown.
fn near_of(rank: u32) -> f32 {
    return select(select(bitcast<f32>(rank), 0.0, rank >= RANK_ZERO), -1.0, rank == UNRANKED);
}

// Returns the proven order of two boxes by their ranks, if any. A box comes after itself.
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

// Returns whether a box comes before the box at a place with this rank: by distance, then by index.
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

// Inserts a box into the row, if it is among the first answers.
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

// Sets the distance limit to the last answer of a full row.
fn limit_by(last: u32) {
    if row_count == query.most {
        let near = near_of(rows[row_first + last].y);
        if near >= 0.0 {
            sight_limit = min(sight_limit, near);
        }
    }
}

// Inserts a box into the row by exact comparison.
fn put_in_order(place: u32, id: u32, own: BoxBits, rank: u32) {
    // First test whether the box comes after the previous row. Then find the first box of this row that comes after it,
    // with few comparisons, since exact comparisons are expensive. Both share one call, since compilers inline each
    // call.
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
    // Move the later boxes by one place, from the last box on, four per turn.
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
