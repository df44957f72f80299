// The boxes of a hit of the sweep: shared by emit_sweep and emit_again, which bind entries.

// Returns the boxes of two entries, the smaller number first.
fn pair_at(ranks: vec2<u32>) -> vec2<u32> {
    let a = entries[ranks.x] & ENTRY_BOX;
    let b = entries[ranks.y] & ENTRY_BOX;
    return vec2<u32>(min(a, b), max(a, b));
}
