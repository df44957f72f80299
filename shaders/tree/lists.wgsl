// All answers of a query: counted, or written where the counts of all queries say. Shared by the kernels that list.
//
// Changes offsets   [query_count + 1] counts of answers, as (low, high), and where EMITS where the answers of each query
//                   begin; and what a query leaves for the next dispatch: the place from which it is resumed, or
//                   NOWHERE, and how many answers it found
// Writes  pairs     where EMITS: [capacity] (query, box) from number `window.first` on, of lists that were not kept; else
//                   [query_count * KEPT_ANSWERS / 2] the first boxes of each list, two by two, as many as `query.kept`, which is
//                   KEPT_ANSWERS or 0

override EMITS: bool = false;

var<private> found: u32;
var<private> list_query: u32;
// Where the list begins, relative to the window, and how long it is.
var<private> list_first: vec2<u32>;
var<private> list_length: vec2<u32>;

// Begins or resumes the list of a query, and returns the place from which it walks.
fn begin_list(number: u32) -> u32 {
    found = 0u;
    list_query = number;
    var left_at = AGAIN;
    if query.is_resumed == 1u {
        left_at = offsets[number].z;
        found = select(offsets[number].w, 0u, left_at == AGAIN);
    }
    if EMITS {
        let first = vec2<u32>(window.first_low, window.first_high);
        // Another invocation writes the rest of what is next.
        list_first = sub64(vec2<u32>(offsets[number].x, offsets[number].y), first);
        let end = sub64(vec2<u32>(offsets[number + 1u].x, offsets[number + 1u].y), first);
        list_length = sub64(end, list_first);
        // Nor is there anything to write of a list that was kept, or of one without answers: it may be of a query that was not
        // counted to its end.
        let is_kept = list_length.y == 0u && list_length.x <= query.kept;
        let is_before = end.y >= 0x80000000u || (end.x | end.y) == 0u || is_kept;
        let is_behind = list_first.y < 0x80000000u && (list_first.y != 0u || list_first.x >= window.capacity);
        left_at = select(left_at, NOWHERE, is_before || is_behind);
    }
    return begin_walk(left_at);
}

fn take(place: u32, own: BoxBits, near: f32) {
    if EMITS {
        let number = add64(list_first, vec2<u32>(found, 0u));
        // What was not counted to its end has no list.
        let is_own = found < list_length.x || list_length.y != 0u;
        if number.y == 0u && number.x < window.capacity && is_own {
            pairs[number.x] = vec2<u32>(list_query, id_at(place));
        }
    } else if found < query.kept {
        keep(id_at(place));
    }
    found += 1u;
}

fn keep(id: u32) {
    pairs[list_query * (KEPT_ANSWERS / 2u) + found / 2u][found % 2u] = id;
}

// Leaves the list as it is for the next dispatch.
fn end_list(number: u32) {
    if !EMITS {
        offsets[number].x = found;
        offsets[number].y = 0u;
    }
    offsets[number].z = resumed_at;
    offsets[number].w = found;
}

// A list has no limit that would be worth going on for.
fn is_done() -> bool {
    return is_doubtful || found >= query.most;
}

// ---- children that wait ----

// A bit for each child, which come by their numbers.
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
