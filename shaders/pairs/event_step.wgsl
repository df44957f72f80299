// Reads the lengths of the lists of this and the last step. Shared by the kernels of events that bind `header`.

struct EventStep {
    pair_count: u32,          // pairs of the step
    last_count: u32,          // pairs of the last step
    refused: u32,             // 0, or OVERFLOW_*: the step is discarded, and both lengths are 0
}

// Returns the lengths of both lists. `last_count` is the pair count of the last list. The step is discarded if its list
// is incomplete or refused, or if it exceeds the capacity for events. A memory budget may limit this capacity.
fn event_step(last_count: u32) -> EventStep {
    var refused = header.overflow;
    if refused == 0u && header.written > step_params.capacity {
        refused = OVERFLOW_PAIRS;
    }
    // The list lacks the pairs of an unfinished query, which would count as lost.
    if step_params.is_join != 0u && header.unfinished > 0u {
        refused = OVERFLOW_UNFINISHED;
    }
    if refused != 0u {
        return EventStep(0u, 0u, refused);
    }
    return EventStep(header.written, last_count, 0u);
}
