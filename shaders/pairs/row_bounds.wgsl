// Bounds of boxes in a row: shared by the kernels that make them and those that test against them, which bind row_bounds.

// Bounds of nothing, ordered.
const NO_LOW: i32 = 0x7fffffff;
const NO_HIGH: i32 = -0x7fffffff - 1;
const NO_BOUNDS: OrderedBox = OrderedBox(vec3<i32>(NO_LOW), vec3<i32>(NO_HIGH));

fn around(a: OrderedBox, b: OrderedBox) -> OrderedBox {
    return OrderedBox(min(a.min, b.min), max(a.max, b.max));
}

// Returns the bounds at a place, once they are written.
fn bounds_at(at: u32) -> OrderedBox {
    let first = row_bounds[at * 3u];
    let middle = row_bounds[at * 3u + 1u];
    let last = row_bounds[at * 3u + 2u];
    return OrderedBox(bitcast<vec3<i32>>(vec3<u32>(first, middle.x)), bitcast<vec3<i32>>(vec3<u32>(middle.y, last)));
}
