// The lengths of both lists: shared by the kernels of events that bind `header`.

struct EventStep {
    pair_count: u32,          // pairs of the step
    last_count: u32,          // pairs of the last one
    refused: u32,             // 0, or OVERFLOW_*: the step is discarded, and both lengths are 0
}

// Returns the lengths, if the last list has this one. A list that is not whole, or was refused, is not compared; nor is one for whose
// events a memory budget leaves less capacity than for its pairs.
fn event_step(last_count: u32) -> EventStep {
    var refused = header.overflow;
    if refused == 0u && header.written > step_params.capacity {
        refused = OVERFLOW_PAIRS;
    }
    // The list of an unfinished query is empty, and its pairs would be lost.
    if step_params.is_join != 0u && header.unfinished > 0u {
        refused = OVERFLOW_UNFINISHED;
    }
    if refused != 0u {
        return EventStep(0u, 0u, refused);
    }
    return EventStep(header.written, last_count, 0u);
}
