// Bisection in the list of the last step. Shared by the kernels that bind `last_pairs`.

// Tells whether a pair comes before another.
fn is_below(a: vec2<u32>, b: vec2<u32>) -> bool {
    return (a.x < b.x) | ((a.x == b.x) & (a.y < b.y));
}

// Returns the first place from `low` on, and before `high`, whose pair is not below this one; `high` where there is none.
fn first_not_below(pair: vec2<u32>, low: u32, high: u32) -> u32 {
    var first = low;
    var end = high;
    while first < end {
        let middle = first + (end - first) / 2u;
        if is_below(last_pairs[middle], pair) {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}
