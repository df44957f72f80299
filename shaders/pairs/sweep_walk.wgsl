// The path that the sweep walks: for each entry, in sorted order, the quads that hold its candidates. Pieces of equal
// length are equal work, wherever they are cut. Shared by sweep_test and emit_again, which bind boxes, counts,
// entries, stretches, footprints and path_bases.
// Sources: sweep and prune, Baraff 1992 and Cohen, Lin, Manocha, Ponamgi 1995 (I-COLLIDE); load-balancing search,
// Baxter, Modern GPU, 2013; each pair in one cell, the reference point of Dittrich and Seeger 2000, Data redundancy and
// duplicate detection in spatial join processing; bytes compared in one subtraction, Lamport 1975, Multiple byte
// processing with full-word instructions.

// Returns the entry, and the number of the quad among its own, at number `at` of the path, which lies before its end.
fn walk_at(at: vec2<u32>) -> vec2<u32> {
    let n = counts.entry_count;
    // The last block that starts at or before the quad. Every block has quads.
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
        if within < stretches[middle].offset {
            high = middle;
        } else {
            rank = middle;
        }
    }
    return vec2<u32>(rank, within - stretches[rank].offset);
}

// Counts how many of the RUN_QUADS quads from `at` lie on the path.
fn quads_from(at: vec2<u32>) -> u32 {
    let length = path_bases[div_ceil(counts.entry_count, PATH_BLOCK)];
    if !less64(at, length) {
        return 0u;
    }
    let left = sub64(length, at);
    return select(min(left.x, RUN_QUADS), RUN_QUADS, left.y > 0u);
}

fn footprint_at(rank: u32) -> u32 {
    return footprints[rank / 4u][rank % 4u];
}

// Tells which of four boxes may overlap `own` across the sweep axis, and would be reported in this cell.
//
// The first bytes of a footprint are where the box begins in the cell, the second ones where it ends, along u and v;
// both are monotone in the coordinates, so boxes that overlap pass. Two bytes are compared in one subtraction, whose
// borrow is caught by the eighth bit.
// Two boxes that overlap share one cell in each cell that both touch. The pair belongs to the one whose coordinates
// are the larger of the two boxes' first cells: there, along u and along v, one of the two entries is in its box's
// first cell. Those flags are the eighth bits of the first bytes.
fn survivors(own: u32, others: vec4<u32>) -> vec4<bool> {
    let first = vec4<u32>(FRACTION_LAST | (FRACTION_LAST << 16u));
    let flags = vec4<u32>(FOOTPRINT_FIRST);
    let mine = vec4<u32>(own);
    let begins_before = (((others >> vec4<u32>(8u)) & first) | flags) - (mine & first);
    let ends_after = (((mine >> vec4<u32>(8u)) & first) | flags) - (others & first);
    return (begins_before & ends_after & (mine | others) & flags) == flags;
}

// Returns the candidates in the quads from `at` that survive a look at their footprints.
fn survey(at: vec2<u32>) -> Run {
    let count = quads_from(at);
    if count == 0u {
        return Run(0u, 0u, 0u, 0u);
    }
    let start = walk_at(at);
    var rank = start.x;
    var quad = (rank + 1u) / 4u + start.y;
    var end = stretches[rank].end;
    var own = footprint_at(rank);
    var run = Run(0u, rank, quad, 0u);
    for (var k = 0u; k < count; k += 1u) {
        let place = vec4<u32>(quad * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
        let is_candidate = (place > vec4<u32>(rank)) & (place < vec4<u32>(end));
        let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), survivors(own, footprints[quad]) & is_candidate);
        run.hits |= (bits.x | bits.y | bits.z | bits.w) << (4u * k);
        quad += 1u;
        if quad * 4u >= end && k + 1u < count {
            rank += 1u;
            run.turns |= 2u << k;
            quad = (rank + 1u) / 4u;
            end = stretches[rank].end;
            own = footprint_at(rank);
        }
    }
    return run;
}

// Returns the survivors whose boxes overlap, of which the filters keep what they want.
fn exact_hits(run: Run) -> u32 {
    var hits = 0u;
    for (var word = run.hits; word != 0u; word &= word - 1u) {
        let bit = firstTrailingBit(word);
        let ranks = ranks_of(run, bit);
        let a = ordered_box(entries[ranks.x] & ENTRY_BOX);
        let b = ordered_box(entries[ranks.y] & ENTRY_BOX);
        hits |= select(0u, 1u << bit, overlap(a, b));
    }
    if IS_FILTERED {
        hits = wanted_hits(run, hits);
    }
    return hits;
}

// Returns those of the hits that the filters keep.
fn wanted_hits(run: Run, hits: u32) -> u32 {
    var wanted = hits;
    for (var word = hits; word != 0u; word &= word - 1u) {
        let bit = firstTrailingBit(word);
        let ranks = ranks_of(run, bit);
        if !keeps(entries[ranks.x] & ENTRY_BOX, entries[ranks.y] & ENTRY_BOX) {
            wanted &= ~(1u << bit);
        }
    }
    return wanted;
}
