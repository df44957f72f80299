// Bisection in a list of pairs in canonical order. Shared by the kernels that look pairs up, and define
// `pair_at(list, i)`. Behind pair_order.wgsl.

// Returns the first place from `low` on, and before `high`, in a list whose pair is not below this one; `high` where there is none.
fn first_not_below(list: u32, pair: vec2<u32>, low: u32, high: u32) -> u32 {
    var first = low;
    var end = high;
    while first < end {
        let middle = first + (end - first) / 2u;
        let other = pair_at(list, middle);
        if is_below(other, pair) {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}
