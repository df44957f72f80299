// query_near: finds the nearest boxes to each point.
//
// Reads   queries    point and radius (distance.wgsl)
//
// One invocation per query. It visits nodes from the nearest on, ranks in f32, and marks undecided ranks. If there are
// undecided ranks, another dispatch decides (rows.wgsl). On an H100, a decision in the same dispatch takes 1.17 times
// as long for the ten nearest boxes.

override IS_EXACT: bool = false;
// True if one answer is requested and f32 ranks it.
override IS_SINGLE: bool = false;

// The place of this answer so far.
var<private> single_place: u32;
var<private> single_near: f32;

@compute @workgroup_size(64)
fn query_near(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    rank_boxes(group_index(group, groups) * WALKERS + local);
}

// Adds a box to the row if it is among the first.
fn take(place: u32, own: BoxBits, near: f32) {
    if IS_EXACT {
        put(place, own, near);
    } else if IS_SINGLE {
        take_single(place, near);
    } else {
        put_by_rank(place, rank_of(near, id_at(place)));
        limit_by(0u);
    }
}

// A walk with an undecided row continues, to find the limit of the row.
fn is_done() -> bool {
    return IS_SINGLE && is_undecided;
}

// Sorts the row if its walk has ended.
fn complete_row() {
    if IS_EXACT {
        return;
    }
    if IS_SINGLE {
        if row_count == 1u {
            rows[row_first] = vec2<u32>(single_place, rank_of(single_near, id_at(single_place)));
        }
    } else if resumed_at == NOWHERE {
        sort_row();
        // The order of two answers may still be undecided.
        if is_undecided {
            resumed_at = AGAIN;
        }
    }
}

// Stores a box in registers if it is the nearest so far. Ids are read only for equal distances.
fn take_single(place: u32, near: f32) {
    let error = margin_of(max(near, single_near));
    let are_equal = row_count == 1u && near == 0.0 && single_near == 0.0;
    var is_nearer = near < single_near - error;
    if are_equal {
        is_nearer = id_at(place) < id_at(single_place);
    }
    let is_first = row_count == 0u || is_nearer;
    is_undecided |= !is_first && !are_equal && near <= single_near + error;
    single_place = select(single_place, place, is_first);
    single_near = select(single_near, near, is_first);
    sight_limit = select(sight_limit, min(sight_limit, near), is_first);
    row_count = 1u;
}

// Compares two known ranks, and marks an undecided order. Ranks have a total order even then, so the last box of a row
// has the largest f32 distance.
fn ranks_before(own: u32, other: u32) -> bool {
    let order = comes_surely(own, other);
    is_undecided |= !order.is_before && !order.is_behind;
    return bitcast<i32>(own) < bitcast<i32>(other);
}

// Inserts a box into the row by its rank. In a full row, the box replaces the last box. A full row is a heap with the
// last box in front, which is sorted after the walk.
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

// Builds a heap from the row. Boxes from index `sinking` on already satisfy the heap order.
fn make_heap(sinking: u32, count: u32) {
    for (var at = sinking; at > 0u; at -= 1u) {
        sink(at - 1u, count);
    }
}

// Moves a box down the heap: swaps it with the later of its two children while this child comes after the box.
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

// Sorts the row.
fn sort_row() {
    make_heap(row_count / 2u, row_count);
    for (var count = row_count; count > 1u; count -= 1u) {
        let last = rows[row_first];
        rows[row_first] = rows[row_first + count - 1u];
        rows[row_first + count - 1u] = last;
        sink(0u, count - 1u);
    }
}
