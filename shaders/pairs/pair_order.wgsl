// Canonical order. Shared by the kernels that look up pairs in the last list.

// Returns whether pair a comes before pair b.
fn is_below(a: vec2<u32>, b: vec2<u32>) -> bool {
    return (a.x < b.x) | ((a.x == b.x) & (a.y < b.y));
}
