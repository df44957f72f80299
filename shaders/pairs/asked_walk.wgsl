// Boxes that ask for the giants that they meet. A tile is ASKED_ROWS rows of giants and 256 boxes, one for each invocation: first entries in
// sorted order, each for its box in the first cell of the box alone, then giants. A box goes from the bounds of rows to those of their parts and
// to giants, where each invocation follows its own: a step is a load of its own anyhow in software, and on a GPU boxes of a world, which are
// neighbours here, meet different giants. Shared by giants_ask and emit_asked, which bind boxes, counts, entries, giants and row_bounds.
// Source: joins that prune by bounds from the top down, Brinkhoff, Kriegel and Seeger 1993, Efficient processing of spatial joins using
// R-trees.

// A box that asks some rows of giants.
struct Asker {
    index: u32,
    own: OrderedBox,
    is_there: bool,
    is_giant: bool,
    first_row: u32,           // the first of these rows
}

// Returns the box of an invocation in a tile. One that is not there has the index of some box all the same.
fn asker_of(tile: u32, local: u32) -> Asker {
    let asker_tiles = div_ceil(counts.entry_count + counts.giant_count, 256u);
    let number = tile % asker_tiles * 256u + local;
    let is_giant = number >= counts.entry_count;
    let first = ENTRY_FIRST_U | ENTRY_FIRST_V;
    var index = 0u;
    var is_there = true;
    if is_giant {
        is_there = number - counts.entry_count < counts.giant_count;
        index = giants[min(number - counts.entry_count, counts.giant_count - 1u)];
    } else {
        let entry = entries[number];
        is_there = (entry & first) == first;
        index = entry & ENTRY_BOX;
    }
    return Asker(index, ordered_box(index), is_there, is_giant, tile / asker_tiles * ASKED_ROWS);
}

// Returns how many pairs an invocation has in a tile, and where, in a word: of two at most the numbers of the giants, counted from the first
// one of the rows; of more a bit for each row in which there are some.
fn word_of(tile: u32, local: u32) -> u32 {
    let asker = asker_of(tile, local);
    var count = 0u;
    var rows = 0u;
    var numbers = 0u;
    for (var near = parts_near(asker, rows_near(asker)); any(near != vec2<u32>(0u)); near = without_first(near)) {
        let part = first_of(near);
        for (var met = giants_met(asker, part); met != 0u; met &= met - 1u) {
            let number = part * GIANT_PART + firstTrailingBit(met);
            numbers |= select(0u, number << (min(count, 1u) * ASKED_BITS), count < 2u);
            rows |= 1u << (part / ROW_PARTS);
            count += 1u;
        }
    }
    return packed(count, select(rows, numbers, count <= 2u));
}

// Returns which of the rows have bounds that the box meets: a bit for each.
fn rows_near(asker: Asker) -> u32 {
    let end = min(div_ceil(counts.giant_count, GIANT_ROW) - asker.first_row, ASKED_ROWS);
    var near = 0u;
    for (var k = 0u; k < end; k += 1u) {
        near |= select(0u, 1u << k, overlap(bounds_at(asker.first_row + k), asker.own));
    }
    return select(0u, near, asker.is_there);
}

// Returns which parts of some of the rows have bounds that the box meets: a bit for each.
fn parts_near(asker: Asker, rows: u32) -> vec2<u32> {
    let parts = div_ceil(counts.giant_count, GIANT_PART);
    let first_bounds = div_ceil(counts.giant_count, GIANT_ROW);
    var near = vec2<u32>(0u);
    for (var left = rows; left != 0u; left &= left - 1u) {
        let first = firstTrailingBit(left) * ROW_PARTS;
        var of_row = 0u;
        for (var k = 0u; k < ROW_PARTS; k += 1u) {
            let part = asker.first_row * ROW_PARTS + first + k;
            let meets = overlap(bounds_at(first_bounds + min(part, parts - 1u)), asker.own);
            of_row |= select(0u, 1u << k, (part < parts) & meets);
        }
        near |= select(vec2<u32>(0u, of_row << (first % 32u)), vec2<u32>(of_row << (first % 32u), 0u), first < 32u);
    }
    return near;
}

// Returns which giants of a part the box meets: a bit for each.
fn giants_met(asker: Asker, part: u32) -> u32 {
    let first = giants_before(asker, part);
    var met = 0u;
    for (var k = 0u; k < GIANT_PART; k += 1u) {
        let giant = giants[min(first + k, counts.giant_count - 1u)];
        // Two giants meet once, from the smaller index.
        let is_first = (first + k < counts.giant_count) & (!asker.is_giant | (giant < asker.index));
        met |= select(0u, 1u << k, overlap(ordered_box(giant), asker.own) & is_first);
    }
    if IS_FILTERED {
        for (var left = met; left != 0u; left &= left - 1u) {
            if !keeps(giants[first + firstTrailingBit(left)], asker.index) {
                met &= ~(left & (0u - left));
            }
        }
    }
    return met;
}

// Counts the giants before a part of these rows.
fn giants_before(asker: Asker, part: u32) -> u32 {
    return (asker.first_row * ROW_PARTS + part) * GIANT_PART;
}

// Returns the number of the lowest bit of two words, of which one is not zero.
fn first_of(bits: vec2<u32>) -> u32 {
    return select(32u + firstTrailingBit(bits.y), firstTrailingBit(bits.x), bits.x != 0u);
}

fn without_first(bits: vec2<u32>) -> vec2<u32> {
    return select(vec2<u32>(0u, bits.y & (bits.y - 1u)), vec2<u32>(bits.x & (bits.x - 1u), bits.y), bits.x != 0u);
}

// Returns the number of a giant in a word of two pairs at most.
fn nth_found(word: u32, k: u32) -> u32 {
    return (word >> (k * ASKED_BITS)) & ((1u << ASKED_BITS) - 1u);
}
