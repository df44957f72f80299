// The path that the sweep walks: for each entry, in sorted order, one item for itself and one for each of its
// candidates. Pieces of equal length are equal work, wherever they are cut. Shared by sweep_test and
// emit_sweep, which bind boxes, counts, entries, steps and path_bases.

struct Walk {
    rank: u32,                // the entry
    item: u32,                // 0: the entry itself; k: the entry k ranks after it
    items: u32,               // of this entry
}

// The walk at item number `at` of the path, which lies before its end.
fn walk_at(at: vec2<u32>) -> Walk {
    let n = counts.entry_count;
    // The last block that starts at or before the item. Every block has items.
    var low = 0u;
    var high = div_ceil(n, PATH_BLOCK);
    while low + 1u < high {
        let middle = low + (high - low) / 2u;
        if less64(at, path_bases[middle]) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let within = sub64(at, path_bases[low]).x;
    var rank = low * PATH_BLOCK;
    high = min(rank + PATH_BLOCK, n);
    while rank + 1u < high {
        let middle = rank + (high - rank) / 2u;
        if within < steps[middle].offset {
            high = middle;
        } else {
            rank = middle;
        }
    }
    return Walk(rank, within - steps[rank].offset, steps[rank].end - rank);
}

fn walk_on(walk: ptr<function, Walk>) {
    (*walk).item += 1u;
    if (*walk).item == (*walk).items {
        (*walk).rank += 1u;
        (*walk).item = 0u;
        (*walk).items = 0u;
        if (*walk).rank < counts.entry_count {
            (*walk).items = steps[(*walk).rank].end - (*walk).rank;
        }
    }
}

// How many of 32 items from `at` lie on the path.
fn items_from(at: vec2<u32>) -> u32 {
    let length = path_bases[div_ceil(counts.entry_count, PATH_BLOCK)];
    if !less64(at, length) {
        return 0u;
    }
    let left = sub64(length, at);
    return select(min(left.x, 32u), 32u, left.y > 0u);
}

// Two entries whose boxes overlap share one cell in each cell that both boxes touch. The pair belongs to the
// one whose coordinates are the larger of the two boxes' first cells: there, along u and along v, one of the
// two entries is in its box's first cell.
fn owns_pair(entry_a: u32, entry_b: u32) -> bool {
    return ((entry_a | entry_b) & (ENTRY_FIRST_U | ENTRY_FIRST_V)) == (ENTRY_FIRST_U | ENTRY_FIRST_V);
}

// One bit per item of the 32 from `at`: set where the item is a candidate and its pair overlaps here.
fn test_items(at: vec2<u32>) -> u32 {
    let count = items_from(at);
    if count == 0u {
        return 0u;
    }
    var walk = walk_at(at);
    var own = entries[walk.rank];
    var own_box = ordered_box(own & ENTRY_BOX);
    var hits = 0u;
    for (var bit = 0u; bit < count; bit += 1u) {
        if walk.item == 0u {
            own = entries[walk.rank];
            own_box = ordered_box(own & ENTRY_BOX);
        } else {
            let other = entries[walk.rank + walk.item];
            if owns_pair(own, other) {
                if overlap(own_box, ordered_box(other & ENTRY_BOX)) {
                    hits |= 1u << bit;
                }
            }
        }
        walk_on(&walk);
    }
    return hits;
}
