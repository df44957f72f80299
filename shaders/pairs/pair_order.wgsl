// Canonical order: shared by the kernels that look pairs up in the last list.

// Returns whether a pair comes before another.
fn is_below(a: vec2<u32>, b: vec2<u32>) -> bool {
    return (a.x < b.x) | ((a.x == b.x) & (a.y < b.y));
}
