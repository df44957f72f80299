// Writes the length of a list of pairs, and the length of its part in the window, to counts, header and arguments.
// Shared by emit_sweep and small_emit, which bind these buffers, params and window.

// Writes counts, header and arguments for a list of `found` pairs. A refused search has no pairs, not even included
// pairs, since a consumer would take these for the result.
fn write_header(found: vec2<u32>) {
    let is_beyond = params.is_beyond != 0u;
    let refused = counts.refused == 1u || is_beyond;
    let total = select(found, vec2<u32>(0u), refused);
    let first_pair = vec2<u32>(window.first_low, window.first_high);
    var written = 0u;
    var beyond = false;
    if less64(first_pair, total) {
        let rest = sub64(total, first_pair);
        beyond = rest.y > 0u || rest.x > window.capacity;
        written = select(rest.x, window.capacity, beyond);
    }
    counts.pair_low = total.x;
    counts.pair_high = total.y;
    counts.written = written;
    header.count = total.x;
    header.count_high = total.y;
    header.capacity = window.capacity;
    let beyond_what = select(OVERFLOW_BOXES, OVERFLOW_FILTERS, params.is_beyond == BEYOND_FILTERS);
    let reason = select(OVERFLOW_CANDIDATES, beyond_what, is_beyond);
    header.overflow = select(select(0u, OVERFLOW_PAIRS, beyond), reason, refused);
    header.written = written;
    header.unused = array<u32, 3>(0u, 0u, 0u);
    arguments = arguments_of(written, params.vertices_per_pair);
}
