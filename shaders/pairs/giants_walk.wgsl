// Giants against all boxes. A tile is one giant and HIT_TILE consecutive boxes; bit k of an invocation is the
// box 256 * k further on, so that neighbours read neighbours. Shared by giants_test and emit_giants, which bind
// params, boxes, counts, cells, giants, frame and hit_words.
// Source: ODE's hash space, where what is too large for its cells has a list of its own and is tested against all.

fn giant_of(tile: u32) -> u32 {
    return giants[tile / div_ceil(params.box_count, HIT_TILE)];
}

fn first_box_of(tile: u32, local: u32) -> u32 {
    return tile % div_ceil(params.box_count, HIT_TILE) * HIT_TILE + local;
}

// Returns which boxes of an invocation may be near the giant of a tile.
fn near_of(tile: u32, local: u32) -> u32 {
    let per_giant = div_ceil(params.box_count, HIT_TILE);
    let near_tile = tile / per_giant / GIANT_GROUP * per_giant + tile % per_giant;
    if counts.giant_count < GIANT_GROUP || near_tile >= params.giant_tile_capacity / NEAR_SHARE {
        return 0xffffffffu;
    }
    return hit_words[(params.giant_tile_capacity + near_tile) * 256u + local];
}

// Tests a giant against the boxes of an invocation that may be near it, and returns a bit for each that it meets.
fn test_boxes(tile: u32, local: u32) -> u32 {
    let giant = giant_of(tile);
    let giant_box = ordered_box(giant);
    let first = first_box_of(tile, local);
    var hits = 0u;
    for (var left = near_of(tile, local); left != 0u; left &= left - 1u) {
        let bit = firstTrailingBit(left);
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
