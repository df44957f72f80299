// What became of a pair. Shared by events_count and events_list, which bind `filters` and `filter_layout`.

// Tells whether a box sleeps or is fixed.
fn rests(i: u32) -> bool {
    var bit = 0u;
    if HAS_FIXED {
        bit |= bit_of(filter_layout.fixed, i);
    }
    if HAS_SLEEPING {
        bit |= bit_of(filter_layout.sleeping, i);
    }
    return bit != 0u;
}

// Returns (1, 0) for a pair that is created, (0, 1) for one that persists, and (0, 0) for one that persists at rest.
fn class_of(place: u32, pair: vec2<u32>) -> vec2<u32> {
    let is_created = place == EVENT_CREATED;
    return vec2<u32>(select(0u, 1u, is_created), select(1u, 0u, is_created || (rests(pair.x) && rests(pair.y))));
}
