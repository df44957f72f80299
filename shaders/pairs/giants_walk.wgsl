// Tests giants against all boxes: groups of GIANT_GROUP giants against rows of boxes. A row is GIANT_ROW consecutive
// entries in sorted order. Rows of GIANT_ROW consecutive giants follow the rows of entries. A tile is a group and 256
// rows, one per invocation. Giants that do not meet the bounds of a row skip the boxes of the row. Shared by
// giants_test and emit_again, which bind params, boxes, counts and entries. The list of giants follows the entries.
//
// Sources: ODE's hash space, which tests boxes that are too large for its cells against all other boxes; joins that
// prune both sides by bounds, Brinkhoff, Kriegel and Seeger 1993, Efficient processing of spatial joins using R-trees.

// Returns giant k, in the order of the boxes.
fn giant_at(k: u32) -> u32 {
    return entries[div_ceil(params.entry_capacity, ENTRY_ALIGNMENT) * ENTRY_ALIGNMENT + k];
}

// A box of a row.
struct Item {
    index: u32,
    is_there: bool,           // true only for the entry in the first cell of a box
}

// Returns the count of rows of entries. Rows of giants follow.
fn entry_row_count() -> u32 {
    return div_ceil(counts.entry_count, GIANT_ROW);
}

fn row_count() -> u32 {
    return rows_of(counts.entry_count, counts.giant_count);
}

// Returns box k of a row. For a missing box, `is_there` is false and the index is any valid index.
fn item_of(row: u32, k: u32) -> Item {
    let entry_rows = entry_row_count();
    if row < entry_rows {
        let at = row * GIANT_ROW + k;
        let entry = entries[min(at, counts.entry_count - 1u)];
        let first = ENTRY_FIRST_U | ENTRY_FIRST_V;
        return Item(entry & ENTRY_BOX, at < counts.entry_count && (entry & first) == first);
    }
    let at = (row - entry_rows) * GIANT_ROW + k;
    return Item(giant_at(min(at, counts.giant_count - 1u)), at < counts.giant_count);
}

// Empty bounds, as ordered integers.
const NO_LOW: i32 = 0x7fffffff;
const NO_HIGH: i32 = -0x7fffffff - 1;
const NO_BOUNDS: OrderedBox = OrderedBox(vec3<i32>(NO_LOW), vec3<i32>(NO_HIGH));

fn around(a: OrderedBox, b: OrderedBox) -> OrderedBox {
    return OrderedBox(min(a.min, b.min), max(a.max, b.max));
}

// A bit for each giant of a group.
const ALL_OF_GROUP: u32 = (1u << GIANT_GROUP) - 1u;

// Returns a bit per giant of the group that begins at `first`: set if the giant meets these bounds.
fn giants_near(first: u32, bounds: OrderedBox) -> u32 {
    var near = 0u;
    let there = ALL_OF_GROUP >> (GIANT_GROUP - min(counts.giant_count - first, GIANT_GROUP));
    for (var rest = there; rest != 0u; rest &= rest - 1u) {
        let k = firstTrailingBit(rest);
        near |= select(0u, 1u << k, overlap(ordered_box(giant_at(first + k)), bounds));
    }
    if IS_FILTERED {
        near = without_half_spaces_apart(first, near, bounds);
    }
    return near;
}

// Returns the giants `among` without the half-spaces that do not meet the bounds. A half-space that meets a box also
// meets all bounds of this box. Without half-spaces, no loop runs.
fn without_half_spaces_apart(first: u32, among: u32, bounds: OrderedBox) -> u32 {
    let low = bitcast<vec3<u32>>(ordered(bitcast<vec3<u32>>(bounds.min)));
    let high = bitcast<vec3<u32>>(ordered(bitcast<vec3<u32>>(bounds.max)));
    var near = among;
    // Half-spaces ascend by box, as giants do. So the count of half-spaces between two giants is at most their distance
    // in box indices.
    var before = giant_at(first);
    let count = select(0u, filter_layout.half_space_count, among != 0u);
    var nth = half_space_between(before, 0u, count);
    for (var rest = select(0u, among, count != 0u); rest != 0u; rest &= rest - 1u) {
        let k = firstTrailingBit(rest);
        let giant = giant_at(first + k);
        nth = half_space_between(giant, nth, min(nth + giant - before + 1u, count));
        before = giant;
        if bit_of(filter_layout.half_space_bits, giant) == 1u {
            near &= ~select(1u << k, 0u, meets_half_space(nth, low, high));
        }
    }
    return near;
}

// A group of giants and a row.
struct Meeting {
    first_giant: u32,
    row: u32,
    near: u32,                // a bit per giant of the group; set if it meets the bounds of the row
    bounds: OrderedBox,       // of the giants near the row
}

// Returns the group and the row of an invocation in a tile. `near` has a bit per giant of the group that is near the
// row.
fn meeting_of(tile: u32, local: u32, near: u32) -> Meeting {
    let row_tiles = div_ceil(row_count(), 256u);
    let first_giant = tile / row_tiles * GIANT_GROUP;
    var bounds = NO_BOUNDS;
    for (var rest = near; rest != 0u; rest &= rest - 1u) {
        bounds = around(bounds, ordered_box(giant_at(first_giant + firstTrailingBit(rest))));
    }
    return Meeting(first_giant, tile % row_tiles * 256u + local, near, bounds);
}

// Returns a bit per giant of a tile: set if the giant is near the row of the invocation.
fn near_of(tile: u32, local: u32) -> u32 {
    let row_tiles = div_ceil(row_count(), 256u);
    let row = tile % row_tiles * 256u + local;
    if row >= row_count() {
        return 0u;
    }
    var bounds = NO_BOUNDS;
    for (var k = 0u; k < GIANT_ROW; k += 1u) {
        let item = item_of(row, k);
        let own = ordered_box(item.index);
        bounds.min = select(bounds.min, min(bounds.min, own.min), item.is_there);
        bounds.max = select(bounds.max, max(bounds.max, own.max), item.is_there);
    }
    return giants_near(tile / row_tiles * GIANT_GROUP, bounds);
}

// Returns a bit per giant near the row: set if the giant overlaps the box of `item`.
fn giants_met(item: Item, meeting: Meeting) -> u32 {
    let own = ordered_box(item.index);
    // A pair of giants is found once, by the giant with the smaller index.
    let is_giant = meeting.row >= entry_row_count();
    var met = 0u;
    let may_meet = item.is_there & overlap(meeting.bounds, own);
    for (var rest = select(0u, meeting.near, may_meet); rest != 0u; rest &= rest - 1u) {
        let giant = giant_at(meeting.first_giant + firstTrailingBit(rest));
        let is_first = !is_giant | (giant < item.index);
        met |= select(0u, rest & (0u - rest), overlap(ordered_box(giant), own) & is_first);
    }
    if IS_FILTERED {
        for (var rest = met; rest != 0u; rest &= rest - 1u) {
            if !passes(giant_at(meeting.first_giant + firstTrailingBit(rest)), item.index) {
                met &= ~(rest & (0u - rest));
            }
        }
    }
    return met;
}

// Returns a word with the pair count of an invocation in a tile, and the bits of the giants near its row.
fn word_of(tile: u32, local: u32) -> u32 {
    let meeting = meeting_of(tile, local, near_of(tile, local));
    return (count_met(meeting) << GIANT_GROUP) | meeting.near;
}

fn count_in(word: u32) -> u32 {
    return word >> GIANT_GROUP;
}

// Counts the pairs of a row and a group of giants.
fn count_met(meeting: Meeting) -> u32 {
    var count = 0u;
    let end = select(0u, GIANT_ROW, meeting.near != 0u);
    for (var k = 0u; k < end; k += 1u) {
        count += countOneBits(giants_met(item_of(meeting.row, k), meeting));
    }
    return count;
}
