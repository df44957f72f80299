// The events of the pairs of an invocation. Shared by the kernels that list them, which bind `event_words` and `event_tiles`.

struct RunEvents {
    bits: vec4<u32>,          // of EVENT_RUN pairs: created, persisting and awake, lost, 0
    places: vec4<u32>,        // of the first of each
}

// Returns the events of EVENT_RUN pairs from this one on.
fn events_of_run(first: u32) -> RunEvents {
    let word = event_words[first / 32u * 2u];
    let places = event_words[first / 32u * 2u + 1u] + event_tiles[first / EVENT_BLOCK];
    let before = countOneBits(word & vec4<u32>((1u << (first % 32u)) - 1u));
    let bits = (word >> vec4<u32>(first % 32u)) & vec4<u32>((1u << EVENT_RUN) - 1u);
    return RunEvents(bits, places + before);
}
