// What is said about a list of `total` pairs: in counts how many there are and how many of them the window takes, and
// all of the header. Shared by emit_scan and small_emit, which bind params, window, counts and header. Returns the
// number of pairs that are written.

fn write_header(total: vec2<u32>) -> u32 {
    let first_pair = vec2<u32>(window.first_low, window.first_high);
    var written = 0u;
    var beyond = false;
    if less64(first_pair, total) {
        let left = sub64(total, first_pair);
        beyond = left.y > 0u || left.x > window.capacity;
        written = select(left.x, window.capacity, beyond);
    }
    counts.pair_low = total.x;
    counts.pair_high = total.y;
    counts.written = written;
    header.count = total.x;
    header.count_high = total.y;
    header.capacity = window.capacity;
    header.overflow = select(0u, OVERFLOW_PAIRS, beyond) | select(0u, OVERFLOW_CANDIDATES, counts.refused == 1u);
    header.written = written;
    header.dispatch = dispatch_size(div_ceil(written, 256u));
    header.draw = array<u32, 4>(params.vertices_per_pair, written, 0u, 0u);
    return written;
}
