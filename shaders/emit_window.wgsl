// Which pairs lie in the window, and where: shared by emit_sweep and emit_giants, which bind window and pairs.

fn in_window(number: vec2<u32>) -> bool {
    let first = vec2<u32>(window.first_low, window.first_high);
    if less64(number, first) {
        return false;
    }
    let place = sub64(number, first);
    return place.y == 0u && place.x < window.capacity;
}

// Whether pairs [start, start + count) meet the window.
fn meets_window(start: vec2<u32>, count: u32) -> bool {
    let first = vec2<u32>(window.first_low, window.first_high);
    let end = add64(first, vec2<u32>(window.capacity, 0u));
    return less64(start, end) && less64(first, add64(start, vec2<u32>(count, 0u)));
}

fn write_pair(number: vec2<u32>, pair: vec2<u32>) {
    if in_window(number) {
        pairs[number.x - window.first_low] = pair;
    }
}
