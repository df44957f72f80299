// order_sort: sorts the elements of each row.
//
// Reads   order      one OrderParams
//         counts     written
//         offsets    [row_count + 1] where rows begin, and their end
//         tile_rows  of order_rows
//         others     [ways * written] row by row, each once in its row
// Writes  in_order   [ways * written] the same, ascending within each row; if ways is 1, with the row before each
//
// One workgroup per ORDER_TILE elements; each invocation processes two consecutive elements. The place of an element in
// a short row is the count of smaller elements. A long row is divided into ranges of boxes, one for each workgroup that
// has a part of the row. A workgroup sorts its range by a bit per box, ORDER_WINDOW boxes at a time.
//
// Source: rank by counting, Knuth, The Art of Computer Programming 3, 5.2; sorting distinct numbers in a bit map,
// Bentley 1986, Programming Pearls, column 1.

@group(0) @binding(0) var<uniform> order: OrderParams;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> tile_rows: array<u32>;
@group(0) @binding(4) var<storage, read> others: array<u32>;
@group(0) @binding(5) var<storage, read_write> in_order: array<u32>;

// The elements of the tile, and ORDER_SHORT elements before and after the tile.
var<workgroup> nearby: array<u32, ORDER_TILE + 2u * ORDER_SHORT>;
// The long rows that have a part in the tile, and their count.
var<workgroup> long_rows: array<u32, ORDER_LONG_ROWS>;
var<workgroup> long_count: atomic<u32>;
var<workgroup> all_long: u32;
// A bit for each box of a window.
var<workgroup> window_bits: array<atomic<u32>, ORDER_WINDOW / 32u>;
// The count of elements of the row before the window, and the begin of the next window.
var<workgroup> before_window: atomic<u32>;
var<workgroup> next_window: atomic<u32>;
var<workgroup> window_end: u32;

// Words of a window that one invocation writes.
const WINDOW_RUN = ORDER_WINDOW / 32u / 256u;

@compute @workgroup_size(256)
fn order_sort(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let count = counts.written * order.ways;
    // A workgroup after the last element ends at once. The condition is uniform, so all its invocations return.
    if tile >= div_ceil(count, ORDER_TILE) {
        return;
    }
    let first = tile * ORDER_TILE;
    let end = min(first + ORDER_TILE, count);
    // Places before the first element wrap to large numbers, which other_at ignores.
    let staged = vec4<u32>(first + local - ORDER_SHORT) + vec4<u32>(0u, 256u, 512u, 768u);
    let near = vec4<u32>(
        other_at(staged.x, count),
        other_at(staged.y, count),
        other_at(staged.z, count),
        other_at(staged.w, count),
    );
    nearby[local] = near.x;
    nearby[local + 256u] = near.y;
    nearby[local + 512u] = near.z;
    nearby[local + 768u] = near.w;
    if local == 0u {
        atomicStore(&long_count, 0u);
    }
    workgroupBarrier();

    let place = first + 2u * local;
    if place < end {
        var last_row = order.row_count - 1u;
        if end < count {
            last_row = tile_rows[tile + 1u];
        }
        let first_row = tile_rows[tile];
        let row = row_of(place, first_row, last_row, last_row - first_row + 1u);
        sort_short(first, place, row);
        if place + 1u < end {
            // The next element is mostly in the same row, or in one of the next three.
            let near_row = row_of(place + 1u, row, last_row, 4u);
            let row_count = select(1u, last_row - near_row + 1u, near_row == row + 3u);
            sort_short(first, place + 1u, row_of(place + 1u, near_row, last_row, row_count));
        }
    }

    workgroupBarrier();
    if local == 0u {
        all_long = atomicLoad(&long_count);
    }
    let rows = workgroupUniformLoad(&all_long);
    for (var i = local; rows > 0u && i < ORDER_WINDOW / 32u; i += 256u) {
        atomicStore(&window_bits[i], 0u);
    }
    for (var k = 0u; k < rows; k += 1u) {
        sort_long(local, tile, workgroupUniformLoad(&long_rows[k]));
    }
}

const_assert ORDER_TILE + 2u * ORDER_SHORT == 1024u;

// Returns the element at a place; 0 after the last element.
fn other_at(place: u32, count: u32) -> u32 {
    if place >= count {
        return 0u;
    }
    return others[place];
}

// Returns the last row that begins at or before a place, among `count` rows from `low` on, up to `last`. Row `low` must
// begin at or before the place. Three begins are loaded at once, which halves the memory latencies of a bisection.
fn row_of(place: u32, low: u32, last: u32, count: u32) -> u32 {
    var row = low;
    var step = count;
    while step > 1u {
        step = (step + 3u) / 4u;
        let a = min(row + step, last);
        let b = min(a + step, last);
        let c = min(b + step, last);
        let begin_a = offsets[a];
        let begin_b = offsets[b];
        let begin_c = offsets[c];
        row = select(row, a, begin_a <= place);
        row = select(row, b, begin_b <= place);
        row = select(row, c, begin_c <= place);
    }
    return row;
}

// Writes the element at `place` to its sorted place, if its row is short. Otherwise lists the row, at its first element
// in the tile. `first` is the first element of the tile.
fn sort_short(first: u32, place: u32, row: u32) {
    let begin = offsets[row];
    let behind = offsets[row + 1u];
    if behind - begin > ORDER_SHORT {
        if place == max(begin, first) {
            long_rows[atomicAdd(&long_count, 1u)] = row;
        }
        return;
    }
    let base = ORDER_SHORT - first;
    let own = nearby[place + base];
    var sorted = begin;
    for (var i = begin; i < behind; i += 1u) {
        sorted += u32(nearby[i + base] < own);
    }
    put(sorted, row, own);
}

// Sorts this workgroup's range of a long row. Every invocation of the workgroup must call it.
//
// Mesa's software drivers end all loops of an invocation after 65,535 turns in total. A turn processes four elements,
// and windows without elements are skipped, so `SOFTWARE_BOXES` bounds the turns.
fn sort_long(local: u32, tile: u32, row: u32) {
    let begin = offsets[row];
    let behind = offsets[row + 1u];
    let first_tile = begin / ORDER_TILE;
    let shares = (behind - 1u) / ORDER_TILE - first_tile + 1u;
    let width = max(div_ceil(order.column_count, shares), ORDER_WINDOW);
    var low = min(tile - first_tile, div_ceil(order.column_count, width)) * width;
    let high = min(low + width, order.column_count);
    while low < high {
        if local == 0u {
            atomicStore(&before_window, 0u);
            atomicStore(&next_window, high);
        }
        workgroupBarrier(); // before elements are counted in the same words
        let window = vec2<u32>(low, min(low + ORDER_WINDOW, high));
        var tally = Tally(0u, high);
        for (var i = begin + local; i < behind; i += 1024u) {
            tally = add_element(tally, i, behind, window);
            tally = add_element(tally, i + 256u, behind, window);
            tally = add_element(tally, i + 512u, behind, window);
            tally = add_element(tally, i + 768u, behind, window);
        }
        atomicAdd(&before_window, tally.before);
        atomicMin(&next_window, tally.next);
        workgroupBarrier();
        let word = local * WINDOW_RUN;
        var own = 0u;
        for (var i = word; i < word + WINDOW_RUN; i += 1u) {
            own += countOneBits(atomicLoad(&window_bits[i]));
        }
        let scan = scan_workgroup(local, own);
        var place = begin + atomicLoad(&before_window) + scan.before;
        for (var i = word; i < word + WINDOW_RUN; i += 1u) {
            for (var bits = atomicLoad(&window_bits[i]); bits != 0u; bits &= bits - 1u) {
                put(place, row, low + i * 32u + firstTrailingBit(bits));
                place += 1u;
            }
            atomicStore(&window_bits[i], 0u);
        }
        if local == 0u {
            window_end = atomicLoad(&next_window);
        }
        low = workgroupUniformLoad(&window_end);
    }
}

// The counts of an invocation in a row.
struct Tally {
    before: u32,              // elements before the window
    next: u32,                // the least element after the window, or the end of the range
}

// Adds element i to the tally, or sets its bit if it is in the window. `behind` is the end of the row; i may exceed it.
fn add_element(tally: Tally, i: u32, behind: u32, window: vec2<u32>) -> Tally {
    var now = tally;
    if i < behind {
        let other = others[i];
        if other < window.x {
            now.before += 1u;
        } else if other < window.y {
            atomicOr(&window_bits[(other - window.x) / 32u], 1u << ((other - window.x) % 32u));
        } else {
            now.next = min(now.next, other);
        }
    }
    return now;
}

// Writes an element to its place.
fn put(place: u32, row: u32, other: u32) {
    if order.ways == 2u {
        in_order[place] = other;
    } else {
        in_order[2u * place] = row;
        in_order[2u * place + 1u] = other;
    }
}
