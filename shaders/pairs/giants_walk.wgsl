// Giants against all boxes. A tile is one giant and HIT_TILE consecutive boxes; bit k of an invocation is the
// box 256 * k further on, so that neighbours read neighbours. Shared by giants_test and emit_giants, which bind
// params, boxes, counts, cells, giants and frame.
// Source: ODE's hash space, where what is too large for its cells has a list of its own and is tested against all.

fn giant_of(tile: u32) -> u32 {
    return giants[tile / div_ceil(params.box_count, HIT_TILE)];
}

fn first_box_of(tile: u32, local: u32) -> u32 {
    return tile % div_ceil(params.box_count, HIT_TILE) * HIT_TILE + local;
}

fn count_in(word: u32) -> u32 {
    return countOneBits(word);
}

// Tests a giant against the boxes of an invocation, and returns a bit for each that it meets.
fn word_of(tile: u32, local: u32) -> u32 {
    let giant = giant_of(tile);
    let giant_box = ordered_box(giant);
    let first = first_box_of(tile, local);
    var hits = 0u;
    for (var bit = 0u; bit < 32u; bit += 1u) {
        let i = first + bit * 256u;
        if i < params.box_count {
            let other = cells_from(cells[i]);
            // An invalid box pairs with nothing, and two giants meet once.
            let is_candidate = is_binned(other) || other.y == CELLS_OF_UNBOUNDED.y;
            if is_candidate && (i > giant || !is_giant(other, counts.level, frame.max_span, frame.giant_cells)) && i != giant {
                if overlap(giant_box, ordered_box(i)) {
                    hits |= 1u << bit;
                }
            }
        }
    }
    if IS_FILTERED {
        for (var word = hits; word != 0u; word &= word - 1u) {
            let bit = firstTrailingBit(word);
            if !keeps(giant, first + bit * 256u) {
                hits &= ~(1u << bit);
            }
        }
    }
    return hits;
}
