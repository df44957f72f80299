// Computes which pairs are in the window, and their places in the list. Shared by the kernels that write pairs, which
// bind window and pairs.

fn in_window(number: vec2<u32>) -> bool {
    let first = vec2<u32>(window.first_low, window.first_high);
    if less64(number, first) {
        return false;
    }
    let place = sub64(number, first);
    return place.y == 0u && place.x < window.capacity;
}

// Returns whether any of pairs [start, start + count) is in the window.
fn meets_window(start: vec2<u32>, count: u32) -> bool {
    let first = vec2<u32>(window.first_low, window.first_high);
    let end = add64(first, vec2<u32>(window.capacity, 0u));
    return count != 0u && less64(start, end) && less64(first, add64(start, vec2<u32>(count, 0u)));
}

// Returns which of the `count` pairs from pair `start` of the list on are in the window: the first, relative to
// `start`, and their count.
fn part_in_window(start: vec2<u32>, count: u32) -> vec2<u32> {
    let first = vec2<u32>(window.first_low, window.first_high);
    let window_end = add64(first, vec2<u32>(window.capacity, 0u));
    let end = add64(start, vec2<u32>(count, 0u));
    if !less64(start, window_end) || !less64(first, end) {
        return vec2<u32>(0u);
    }
    let skipped = select(0u, sub64(first, start).x, less64(start, first));
    let beyond = select(0u, sub64(end, window_end).x, less64(window_end, end));
    return vec2<u32>(skipped, count - skipped - beyond);
}

fn write_pair(number: vec2<u32>, pair: vec2<u32>) {
    if in_window(number) {
        pairs[number.x - window.first_low] = pair;
    }
}
