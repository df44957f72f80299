// Groups of giants against rows of boxes, behind giants_near.wgsl and rows_of_boxes.wgsl. A tile is GIANT_GROUP giants in a row and 256
// rows, one for each invocation. Shared by giants_join and emit_joined, which bind params, boxes, counts, entries, giants, row_bounds and
// hit_words.
// Source: joins that prune both sides by bounds, Brinkhoff, Kriegel and Seeger 1993, Efficient processing of spatial joins using
// R-trees.

// A group of giants and a row.
struct Meeting {
    first_giant: u32,
    row: u32,
    near: u32,                // a bit for each giant of the group that meets the bounds of the row
    bounds: OrderedBox,       // of these giants
}

// Returns what an invocation looks at in a tile, where these giants of the group are near its row.
fn meeting_of(tile: u32, local: u32, near: u32) -> Meeting {
    let row_tiles = div_ceil(row_count(), 256u);
    let first_giant = tile / row_tiles * GIANT_GROUP;
    var bounds = NO_BOUNDS;
    for (var left = near; left != 0u; left &= left - 1u) {
        bounds = around(bounds, ordered_box(giants[first_giant + firstTrailingBit(left)]));
    }
    return Meeting(first_giant, tile % row_tiles * 256u + local, near, bounds);
}

// Returns which giants of a tile are near the row of an invocation: a bit for each.
fn near_of(tile: u32, local: u32) -> u32 {
    let row_tiles = div_ceil(row_count(), 256u);
    let row = tile % row_tiles * 256u + local;
    var among = ALL_OF_GROUP;
    if tile < params.giant_tile_capacity {
        among = hit_words[params.giant_tile_capacity * 256u + tile];
    }
    if row >= row_count() || among == 0u {
        return 0u;
    }
    return giants_near(tile / row_tiles * GIANT_GROUP, among, bounds_at(row));
}

// Tests the box of an item against the giants that are near its row, and returns a bit for each that it meets.
fn giants_met(item: Item, meeting: Meeting) -> u32 {
    let own = ordered_box(item.index);
    // Two giants meet once, from the smaller index.
    let is_giant = meeting.row >= entry_row_count();
    var met = 0u;
    let may_meet = item.is_there & overlap(meeting.bounds, own);
    for (var left = select(0u, meeting.near, may_meet); left != 0u; left &= left - 1u) {
        let giant = giants[meeting.first_giant + firstTrailingBit(left)];
        let is_first = !is_giant | (giant < item.index);
        met |= select(0u, left & (0u - left), overlap(ordered_box(giant), own) & is_first);
    }
    if IS_FILTERED {
        for (var left = met; left != 0u; left &= left - 1u) {
            if !keeps(giants[meeting.first_giant + firstTrailingBit(left)], item.index) {
                met &= ~(left & (0u - left));
            }
        }
    }
    return met;
}

// Returns how many pairs an invocation has in a tile, and which giants are near its row, in a word.
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
