// The boxes of a hit of the sweep: shared by emit_sweep and emit_again, which bind entries.

// Returns the boxes of two entries, the smaller number first.
fn pair_of(two: vec2<u32>) -> vec2<u32> {
    let boxes = two & vec2<u32>(ENTRY_BOX);
    return vec2<u32>(min(boxes.x, boxes.y), max(boxes.x, boxes.y));
}

// Returns the boxes of the entries of two ranks, the smaller number first.
fn pair_at(ranks: vec2<u32>) -> vec2<u32> {
    return pair_of(vec2<u32>(entries[ranks.x], entries[ranks.y]));
}
