// The lengths of both lists: shared by the kernels of events that bind `header`.

struct EventStep {
    pair_count: u32,          // pairs of the step
    last_count: u32,          // pairs of the last one
    refused: u32,             // 0, or OVERFLOW_*: the step is discarded, and both lengths are 0
}

// Returns the lengths, if the last list has `last_count` pairs. The step is discarded if its list is incomplete or
// refused, or exceeds the capacity for events, which a memory budget may limit.
fn event_step(last_count: u32) -> EventStep {
    var refused = header.overflow;
    if refused == 0u && header.written > step_params.capacity {
        refused = OVERFLOW_PAIRS;
    }
    // An unfinished query has no pairs, which would count as lost.
    if step_params.is_join != 0u && header.unfinished > 0u {
        refused = OVERFLOW_UNFINISHED;
    }
    if refused != 0u {
        return EventStep(0u, 0u, refused);
    }
    return EventStep(header.written, last_count, 0u);
}
