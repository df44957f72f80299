// Lists all answers of a query: counts them, or writes them to places from the counts of all queries. Shared by the
// kernels that list, together with walk.wgsl.
//
// Reads   window
// Changes offsets   [query_count + 1] counts of answers, as (low, high), or with QUERY_EMITS the begin of each query's
//                   answers; and the state for the next dispatch: the resume place, or NOWHERE, and the count of found
//                   answers
// Writes  pairs     with QUERY_EMITS: [capacity * 2] query and box from number `window.first` on, of lists that were
//                   not retained; otherwise [query_count * RETAINED_ANSWERS] the first `query.retained_count` boxes of
//                   each list, RETAINED_ANSWERS or 0
//
// One invocation per query, or SHARERS invocations with QUERY_SHARED.

// If invocations share a query, the boxes of its list are in any order, and the list is sorted later. But one
// invocation alone walks a list that a window cuts, so that the order is the same in every walk.

@group(0) @binding(7) var<uniform> window: Window;
@group(0) @binding(8) var<storage, read_write> offsets: array<vec4<u32>>;
@group(0) @binding(9) var<storage, read_write> pairs: array<u32>;

const IS_RANKED: bool = false;

// For each shared query of a workgroup: the count of found boxes, and the resume place; 0 if the query begins again.
var<workgroup> found_together: array<atomic<u32>, WALKERS / SHARERS>;
var<workgroup> left_together: array<atomic<u32>, WALKERS / SHARERS>;

// The count of found boxes; for a shared query, the count of earlier dispatches.
var<private> found: u32;
var<private> shared_query: u32;
var<private> sharer: u32;
var<private> has_enough: bool;
var<private> list_query: u32;
// The begin of the list, relative to the window, and its length.
var<private> list_first: vec2<u32>;
var<private> list_length: vec2<u32>;

fn is_shared() -> bool {
    return has_flag(QUERY_SHARED);
}

// Lists the boxes that a query meets. Every invocation of the workgroup must call it.
fn list_boxes(group: u32, local: u32) {
    let turn = begin_turn(group, local);
    let has_query = turn < query.query_count;
    var number = 0u;
    resumed_at = NOWHERE;
    if has_query {
        number = order[turn];
        let place = begin_list(number);
        if place != NOWHERE {
            if begin_shape(number) {
                walk_ranges(begin_query(number), place);
            } else {
                resumed_at = INVALID_QUERY;
            }
        }
    }
    end_list(number, has_query);
}

// Returns the turn of the query of an invocation. Every invocation of the workgroup must call it.
fn begin_turn(group: u32, local: u32) -> u32 {
    if is_shared() {
        sharer = local % SHARERS;
        shared_query = local / SHARERS;
        if sharer == SHARERS - 1u {
            atomicStore(&found_together[shared_query], 0u);
            atomicStore(&left_together[shared_query], NOWHERE);
        }
        workgroupBarrier();
    }
    return (group * WALKERS + local) / select(1u, SHARERS, is_shared());
}

// Begins or resumes the list of a query, and returns the place from which it walks.
fn begin_list(number: u32) -> u32 {
    found = 0u;
    own_boxes = select(0xffu, 1u << sharer, is_shared());
    list_query = number;
    var left_at = AGAIN;
    if has_flag(QUERY_RESUMED) {
        left_at = offsets[number].z;
        found = select(offsets[number].w, 0u, left_at == AGAIN);
    }
    if has_flag(QUERY_EMITS) {
        let first = vec2<u32>(window.first_low, window.first_high);
        // Read only x and y of the next element, since another invocation writes z and w.
        list_first = sub64(vec2<u32>(offsets[number].x, offsets[number].y), first);
        let end = sub64(vec2<u32>(offsets[number + 1u].x, offsets[number + 1u].y), first);
        list_length = sub64(end, list_first);
        // A retained list needs no writes. Neither does an empty list, which may belong to an unfinished query.
        let is_retained = list_length.y == 0u && list_length.x <= query.retained_count;
        let is_before = end.y >= 0x80000000u || (end.x | end.y) == 0u || is_retained;
        let is_behind = list_first.y < 0x80000000u && (list_first.y != 0u || list_first.x >= window.capacity);
        left_at = select(left_at, NOWHERE, is_before || is_behind);
        // If a window cuts a list, each box must have the same number in every walk, so one invocation walks alone.
        let is_cut = list_first.y >= 0x80000000u || end.y != 0u || end.x > window.capacity;
        own_boxes = select(own_boxes, select(0u, 0xffu, sharer == 0u), is_cut);
        if IS_ROUND {
            // The walking invocation may end its dispatch at any place.
            left_at = select(left_at, NOWHERE, own_boxes == 0u);
        }
    }
    has_enough = found >= query.most;
    return begin_walk(left_at);
}

// Returns the number of the next box in the list.
fn next_number() -> u32 {
    var number = found;
    if is_shared() {
        number += atomicAdd(&found_together[shared_query], 1u);
    } else {
        found += 1u;
    }
    has_enough = number + 1u >= query.most;
    return number;
}

fn take(place: u32, own: BoxBits, near: f32) {
    let at = next_number();
    if has_flag(QUERY_EMITS) {
        let number = add64(list_first, vec2<u32>(at, 0u));
        // An unfinished query has no list.
        let is_own = at < list_length.x || list_length.y != 0u;
        if number.y == 0u && number.x < window.capacity && is_own {
            pairs[2u * number.x] = list_query;
            pairs[2u * number.x + 1u] = id_at(place);
        }
    } else if at < query.retained_count {
        pairs[list_query * RETAINED_ANSWERS + at] = id_at(place);
    }
}

// Stores the state of the list for the next dispatch, if the invocation has a query. Every invocation of the workgroup
// must call it.
fn end_list(number: u32, has_query: bool) {
    var is_first = has_query;
    if is_shared() {
        atomicMin(&left_together[shared_query], select(resumed_at, 0u, resumed_at == AGAIN));
        // Wait until the other invocations have read the begin of the list and its state.
        storageBarrier();
        workgroupBarrier();
        is_first &= sharer == 0u;
        found += atomicLoad(&found_together[shared_query]);
        let left_at = atomicLoad(&left_together[shared_query]);
        resumed_at = select(left_at, AGAIN, left_at == 0u);
    }
    if !is_first {
        return;
    }
    if !has_flag(QUERY_EMITS) {
        offsets[number].x = found;
        offsets[number].y = 0u;
    }
    offsets[number].z = resumed_at;
    offsets[number].w = found;
}

// A walk ends early only if another dispatch must decide, or if it has enough answers.
fn is_done() -> bool {
    return is_undecided || has_enough;
}

// ---- waiting children ----

// A bit per waiting child. They are visited in the order of their numbers.
alias Waiting = u32;

const NONE_WAIT: Waiting = 0u;

fn waiting_of(bits: u32, seen: Seen) -> Waiting {
    return bits;
}

fn next_of(waiting: Waiting) -> u32 {
    return select(firstTrailingBit(waiting), 0xffffffffu, waiting == 0u);
}

fn without(waiting: Waiting, next: u32) -> Waiting {
    return waiting & ~(1u << (next % 8u));
}

fn do_wait(waiting: Waiting) -> bool {
    return waiting != 0u;
}

fn is_beyond(next: u32) -> bool {
    return next == 0xffffffffu;
}
