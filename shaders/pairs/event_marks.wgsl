// Marks of the pairs of a step and of the last one: shared by the kernels of events, which bind `step_params`, and
// `header` if they read the step. `event_marks` has
// - EVENT_TOTALS words: the counts of created pairs, of persisting pairs that are not at rest, and of lost pairs; and
//   the reason if the step is discarded;
// - bits, a word per 32 pairs: of the last list, found in this step; of this list, created; of this list, persist and
//   are not at rest;
// - three counts for each tile of EVENT_TILE pairs: created, persisting and not at rest, found; and the sums of EVENT_GROUP tiles.

// The kinds of bits.
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

// Returns a word in which the first `count` bits are set, or all if there are more.
fn bits_up_to(count: u32) -> u32 {
    return select((1u << (count % 32u)) - 1u, 0xffffffffu, count >= 32u);
}
