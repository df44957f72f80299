// The path that the sweep walks: for each entry, in sorted order, the quads that hold its candidates. Pieces of equal
// length are equal work, wherever they are cut. Shared by sweep_test and emit_again, which bind boxes, counts,
// entries, stretches, footprints and path_bases.
// Sources: sweep and prune, Baraff 1992 and Cohen, Lin, Manocha, Ponamgi 1995 (I-COLLIDE); load-balancing search,
// Baxter, Modern GPU, 2013; each pair in one cell, the reference point of Dittrich and Seeger 2000, Data redundancy and
// duplicate detection in spatial join processing; bytes compared in one subtraction, Lamport 1975, Multiple byte
// processing with full-word instructions.

// Returns the last from `first` to `end` whose base is at most `at`, which that of the first is. The bases begin behind
// `skipped` others.
fn last_base(at: vec2<u32>, skipped: u32, first: u32, end: u32) -> u32 {
    var low = first;
    var high = end;
    while low + 1u < high {
        let middle = low + (high - low) / 2u;
        if less64(at, path_bases[skipped + middle]) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return low;
}

// Returns the entry, and the number of the quad among its own, at number `at` of the path, which lies before its end.
fn walk_at(at: vec2<u32>) -> vec2<u32> {
    let n = counts.entry_count;
    // The last section that starts at or before the quad, and its last block. Each of them has quads.
    let sections = div_ceil(n, PATH_SECTION);
    let section = last_base(at, 0u, 0u, sections);
    let first = section * (PATH_SECTION / PATH_BLOCK);
    let blocks = min(first + PATH_SECTION / PATH_BLOCK, div_ceil(n, PATH_BLOCK));
    let of_section = sub64(at, path_bases[section]);
    let block = last_base(of_section, sections + 1u, first, blocks);
    let within = sub64(of_section, path_bases[sections + 1u + block]).x;
    var rank = block * PATH_BLOCK;
    var high = min(rank + PATH_BLOCK, n);
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

// A place on the path, and what is known of its entry.
struct Walk {
    rank: u32,
    quad: u32,
    ends: vec2<u32>,          // the ranks where its candidates end, and those that are sure to begin before it ends
    own: u32,                 // its footprint
    left: u32,                // quads that are still to be walked
    is_over: bool,            // whether its stretch is over
}

// Begins a walk over `most` quads from number `at` of the path, as far as the path goes.
fn walk_from(at: vec2<u32>, most: u32) -> Walk {
    let length = path_bases[div_ceil(counts.entry_count, PATH_SECTION)];
    if !less64(at, length) {
        return Walk();
    }
    let left = sub64(length, at);
    let start = walk_at(at);
    return Walk(
        start.x,
        (start.x + 1u) / 4u + start.y,
        ends_at(start.x),
        footprint_at(start.x),
        select(min(left.x, most), most, left.y > 0u),
        false,
    );
}

fn ends_at(rank: u32) -> vec2<u32> {
    let stretch = stretches[rank];
    let end = end_of(stretch);
    let unsure = stretch.end >> END_BITS;
    return vec2<u32>(end, select(end - unsure, 0u, unsure == ALL_UNSURE));
}

// Goes on to the stretch of the next entry.
fn next_stretch(walk: ptr<function, Walk>) {
    let rank = (*walk).rank + 1u;
    (*walk).rank = rank;
    (*walk).quad = (rank + 1u) / 4u;
    (*walk).ends = ends_at(rank);
    (*walk).own = footprint_at(rank);
    (*walk).is_over = false;
}

fn footprint_at(rank: u32) -> u32 {
    return footprints[rank / 4u][rank % 4u];
}

// What the footprints of an entry and four others tell: a bit for each of the four.
struct Look {
    survives: u32,            // the boxes may overlap across the sweep axis, and would be reported in this cell
    is_sure: u32,             // if they survive, they overlap across the sweep axis, and one begins before the other ends
}

// Compares the footprint of an entry with four others.
//
// The first bytes of a footprint are where the box begins in the cell, the second ones where it ends, along u and v;
// both are monotone in the coordinates, so boxes that overlap pass. Two bytes are compared in one subtraction, whose
// borrow is caught by the eighth bit.
// Two boxes that overlap share one cell in each cell that both touch. The pair belongs to the one whose coordinates
// are the larger of the two boxes' first cells: there, along u and along v, one of the two entries is in its box's
// first cell. Those flags are the eighth bits of the first bytes.
// Boxes of one set do not pair.
// Two plain boxes whose footprints share more than their slop do overlap (docs/exactness.md).
fn look_at(own: u32, others: vec4<u32>) -> Look {
    let bytes = FRACTION_LAST | (FRACTION_LAST << 16u);
    let first = vec4<u32>(bytes);
    let flags = vec4<u32>(FOOTPRINT_FIRST);
    let begins_before = (((others >> vec4<u32>(8u)) & first) | flags) - vec4<u32>(own & bytes);
    let ends_after = vec4<u32>(((own >> 8u) & bytes) | FOOTPRINT_FIRST) - (others & first);
    // Where the eighth bits of both are set, as in every survivor, no byte borrows from the next.
    let slop = vec4<u32>(SURE_FRACTIONS | (SURE_FRACTIONS << 16u));
    let is_enough = (begins_before - slop) & (ends_after - slop) & flags;
    let plain = others & vec4<u32>(own & FOOTPRINT_PLAIN);
    var survives = bits_of((begins_before & ends_after & (vec4<u32>(own) | others) & flags) == flags);
    if HAS_SETS {
        survives &= bits_of((vec4<u32>(own) ^ others) >= vec4<u32>(FOOTPRINT_SECOND));
    }
    return Look(
        survives,
        bits_of((is_enough | plain) == vec4<u32>(FOOTPRINT_FIRST | FOOTPRINT_PLAIN)),
    );
}

// Returns a bit for each of the four ranks of a quad that is below `end`.
fn bits_below(quad: u32, end: u32) -> u32 {
    let first = quad * 4u;
    return 0xfu >> (4u - min(max(end, first) - first, 4u));
}

// Returns a bit for each of four that is set.
fn bits_of(are: vec4<bool>) -> u32 {
    let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), are);
    return bits.x | bits.y | bits.z | bits.w;
}

// What a look at the candidates of a run tells.
struct Survey {
    run: Run,                 // with the survivors in place of the hits
    sure: u32,                // a bit for each that overlaps if it survives
}

// Walks over the next RUN_QUADS quads, and looks at the candidates in them.
fn survey(walk: ptr<function, Walk>) -> Survey {
    let count = min((*walk).left, RUN_QUADS);
    if count == 0u {
        return Survey();
    }
    if (*walk).is_over {
        next_stretch(walk);
    }
    var run = Run(0u, (*walk).rank, (*walk).quad, 0u);
    var sure = 0u;
    for (var k = 0u; k < count; k += 1u) {
        let quad = (*walk).quad;
        let ends = (*walk).ends;
        let look = look_at((*walk).own, footprints[quad]);
        let candidates = bits_below(quad, ends.x) & ~bits_below(quad, (*walk).rank + 1u);
        run.hits |= (look.survives & candidates) << (4u * k);
        sure |= (look.is_sure & bits_below(quad, ends.y)) << (4u * k);
        (*walk).quad = quad + 1u;
        (*walk).is_over = quad * 4u + 4u >= ends.x;
        if (*walk).is_over && k + 1u < count {
            next_stretch(walk);
            run.turns |= 2u << k;
        }
    }
    (*walk).left -= count;
    return Survey(run, sure);
}

// Returns the survivors whose boxes overlap, of which the filters keep what they want. Those that are sure are not looked
// up.
fn exact_hits(survey: Survey) -> u32 {
    let run = survey.run;
    var hits = run.hits & survey.sure;
    for (var word = run.hits & ~survey.sure; word != 0u; word &= word - 1u) {
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
