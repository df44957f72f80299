// Places in `event_marks`, the marks of the pairs of a step and of the last step. Shared by the kernels of events,
// which bind `step_params`, and `header` if they read the step. `event_marks` has
// - EVENT_TOTALS words: the counts of created pairs, of persisting pairs that are not at rest, and of lost pairs; then
//   the reason if the step is discarded;
// - three bit sets, one word per 32 pairs: pairs of the last list that this step has; created pairs of this list; pairs
//   of this list that persist and are not at rest;
// - three counts per tile of EVENT_TILE pairs: created, persisting and not at rest, found; and their sums over each
//   EVENT_GROUP tiles.

// The bit sets.
const EVENT_FOUND = 0u;
const EVENT_IS_CREATED = 1u;
const EVENT_IS_AWAKE = 2u;

// Returns the place of the bits of 32 pairs.
fn bits_at(which: u32, word: u32) -> u32 {
    return EVENT_TOTALS + which * div_ceil(step_params.capacity, 32u) + word;
}

// Returns the place of the counts of a tile.
fn tile_at(tile: u32) -> u32 {
    return bits_at(3u, 3u * tile);
}

// Returns the place of the sums of a group of tiles.
fn group_at(group: u32) -> u32 {
    return tile_at(div_ceil(step_params.capacity, EVENT_TILE) + group);
}

// Returns a word whose lowest `count` bits are set; all bits if `count` is 32 or more.
fn bits_up_to(count: u32) -> u32 {
    return select((1u << (count % 32u)) - 1u, 0xffffffffu, count >= 32u);
}
