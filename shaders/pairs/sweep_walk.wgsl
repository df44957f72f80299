// Walks along the path of the sweep: for each entry, in sorted order, the quads that hold its candidates. Parts of
// equal length take equal work. Shared by sweep_test and emit_again, which bind boxes, counts, entries, stretches,
// footprints and path_bases.
//
// Sources: sweep and prune, Baraff 1992 and Cohen, Lin, Manocha, Ponamgi 1995 (I-COLLIDE); load-balancing search,
// Baxter, Modern GPU, 2013; each pair in one cell, the reference point of Dittrich and Seeger 2000, Data redundancy and
// duplicate detection in spatial join processing; bytes compared in one subtraction, Lamport 1975, Multiple byte
// processing with full-word instructions.

// The sections of a workgroup: the index of the first section, and the quads before each of 256 consecutive sections
// and before their end.
var<workgroup> first_section: u32;
var<workgroup> group_base: vec2<u32>;
var<workgroup> section_bases: array<vec2<u32>, 256>;
var<workgroup> sections_end: vec2<u32>;

// MOST_BLOCK_TILES tiles of the path lie in at most 256 sections, so `section_bases` suffices.
const_assert MOST_BLOCK_TILES * TILE_QUADS / PATH_SECTION + 1u + PATH_GROUP <= 256u;

// Finds the sections of at most MOST_BLOCK_TILES tiles from quad `at` of the path on. The quad must be before the end
// of the path. Every invocation of the workgroup must call it.
fn find_sections(at: vec2<u32>, local: u32) {
    let groups = path_groups();
    for (var group = local; group < groups; group += 256u) {
        let base = path_bases[2u * group];
        let next = select(vec2<u32>(counts.path_low, counts.path_high), path_bases[2u * group + 2u], group + 1u < groups);
        if !less64(at, base) && less64(at, next) {
            first_section = group * PATH_GROUP;
            group_base = base;
        }
    }
    workgroupBarrier();
    let section = first_section + local;
    var quads = vec2<u32>(0u);
    if section < path_sections() {
        quads = path_bases[section_at(section)];
    }
    let scan = scan_workgroup48(local, quads);
    section_bases[local] = add64(group_base, scan.before);
    if local == 0u {
        sections_end = add64(group_base, scan.total);
    }
    workgroupBarrier();
}

// Returns the entry of quad `at` of the path, and the index of the quad within the entry. The quad must be in the found
// sections.
fn walk_at(at: vec2<u32>) -> vec2<u32> {
    // Find the last section that starts at or before the quad.
    var nth = 0u;
    for (var half = 128u; half > 0u; half /= 2u) {
        nth = select(nth + half, nth, less64(at, section_bases[nth + half]));
    }
    let of_section = sub64(at, section_bases[nth]);
    let first = (first_section + nth) * (PATH_SECTION / ENTRY_STRIDE);
    let end = min(first + PATH_SECTION / ENTRY_STRIDE, div_ceil(counts.entry_count, ENTRY_STRIDE));
    let stride = last_stride(of_section, first, end);
    return entry_at(stride * ENTRY_STRIDE, sub64(of_section, path_bases[stride_at(stride)]).x);
}

// Returns the last stride from `first` to before `end` whose base is at most `at`. The base of `first` must be at most
// `at`. Three bases are loaded at once, which halves the memory latencies of a bisection.
fn last_stride(at: vec2<u32>, first: u32, end: u32) -> u32 {
    let last = end - 1u;
    var low = first;
    var step = end - first;
    while step > 1u {
        step = (step + 3u) / 4u;
        let a = min(low + step, last);
        let b = min(a + step, last);
        let c = min(b + step, last);
        let base_a = path_bases[stride_at(a)];
        let base_b = path_bases[stride_at(b)];
        let base_c = path_bases[stride_at(c)];
        low = select(a, low, less64(at, base_a));
        low = select(b, low, less64(at, base_b));
        low = select(c, low, less64(at, base_c));
    }
    return low;
}

const_assert ENTRY_STRIDE == 8u;

// Returns the entry of a quad, and the index of the quad within the entry. `at` counts quads from the stored base of
// entry `first`. The quad must be before the next base.
fn entry_at(first: u32, at: u32) -> vec2<u32> {
    let low = quads_of(first, four_ends(stretches[first / 4u]));
    let high = quads_of(first + 4u, four_ends(stretches[first / 4u + 1u]));
    var place = vec2<u32>(first, at);
    place = passed(place, first, low.x);
    place = passed(place, first + 1u, low.y);
    place = passed(place, first + 2u, low.z);
    place = passed(place, first + 3u, low.w);
    place = passed(place, first + 4u, high.x);
    place = passed(place, first + 5u, high.y);
    return passed(place, first + 6u, high.z);
}

// Returns `place`, advanced to the next entry if it is at entry `rank` but beyond the quads of this entry.
fn passed(place: vec2<u32>, rank: u32, quads: u32) -> vec2<u32> {
    return select(place, vec2<u32>(rank + 1u, place.y - quads), place.x == rank && place.y >= quads);
}

// A place on the path, and the data of its entry.
struct Walk {
    rank: u32,
    quad: u32,
    end: u32,                 // word of `stretches`
    own: u32,                 // footprint of the entry
    remaining: u32,           // quads to walk
    is_over: bool,            // true if the stretch of the entry is over
}

// Begins a walk over `most` quads from quad `at` of the path on, or up to the end of the path. These quads must be in
// the found sections.
fn walk_from(at: vec2<u32>, most: u32) -> Walk {
    if !less64(at, sections_end) {
        return Walk();
    }
    let remaining = sub64(sections_end, at);
    let start = walk_at(at);
    return Walk(
        start.x,
        (start.x + 1u) / 4u + start.y,
        stretch_at(start.x),
        footprint_at(start.x),
        select(min(remaining.x, most), most, remaining.y > 0u),
        false,
    );
}

// Advances to the stretch of the next entry. The loaded values are needed only with the next quad, so the latencies
// overlap.
fn next_stretch(walk: ptr<function, Walk>) {
    let rank = (*walk).rank + 1u;
    (*walk).rank = rank;
    (*walk).quad = (rank + 1u) / 4u;
    (*walk).end = stretch_at(rank);
    (*walk).own = footprint_at(rank);
    (*walk).is_over = false;
}

fn stretch_at(rank: u32) -> u32 {
    return stretches[rank / 4u][rank % 4u];
}

fn footprint_at(rank: u32) -> u32 {
    return footprints[rank / 4u][rank % 4u];
}

// The result of comparing the footprint of an entry with four others: a bit for each of the four.
struct Comparison {
    survives: u32,            // the boxes may overlap across the sweep axis, and this cell would report them
    is_proven: u32,           // if both survive and the entry's box is plain: they overlap across the sweep axis
}

// Compares the footprint of an entry with four others.
//
// For u and v, a footprint has a byte for the begin of the box in the cell, and a byte for its end. Both are monotone
// in the coordinates, so overlapping boxes pass the test: each begins before the other ends. Begins are stored as 127
// minus the begin, so one subtraction compares all four bytes; the eighth bit of each byte catches the borrow.
//
// Two overlapping boxes meet in every cell that both touch. The pair is reported in one of these cells only: its
// coordinates are the larger of the first cells of both boxes. In this cell, along u and along v, one of the two
// entries is in the first cell of its box. The eighth bits of the begins are flags of first cells.
//
// Boxes of the same set are no pair. Two plain boxes overlap if their footprints overlap by more than a fixed slop
// (docs/exactness.md).
fn compare_footprints(own: u32, others: vec4<u32>) -> Comparison {
    let eighth = vec4<u32>(0x80808080u);
    let begins = FRACTION_LAST | (FRACTION_LAST << 16u);
    // The bytes of the entry to compare with others: 127 minus its ends, and its begins.
    let limits = (((own >> 8u) & begins) | ((own & begins) << 8u)) ^ begins;
    let gaps = ((others ^ vec4<u32>(begins)) | eighth) - vec4<u32>(limits);
    // A survivor has no borrow above, so no byte borrows from the next byte here either.
    let slop = PROVEN_FRACTIONS * 0x01010101u;
    let flags = (own & FOOTPRINT_FIRST) | (0x80808080u & ~FOOTPRINT_FIRST);
    let passes = gaps & (others | vec4<u32>(flags)) & eighth;
    let is_enough = (gaps - vec4<u32>(slop)) & (others | vec4<u32>(0x80808080u & ~FOOTPRINT_PLAIN)) & eighth;
    var survives = bits_of(passes == eighth);
    if IS_FILTERED {
        if filter_layout.second != ABSENT {
            survives &= bits_of((vec4<u32>(own) ^ others) >= vec4<u32>(FOOTPRINT_SECOND));
        }
    }
    return Comparison(survives, bits_of(is_enough == eighth));
}

// Packs four booleans into the lowest four bits.
fn bits_of(are: vec4<bool>) -> u32 {
    let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), are);
    return bits.x | bits.y | bits.z | bits.w;
}

// The compared candidates of a run.
struct Survey {
    run: Run,                 // with the survivors instead of the hits
    proven: u32,              // a bit per candidate: set if a survivor is proven to overlap
}

// Walks over the next RUN_QUADS quads, and compares the candidates in them.
fn survey(walk: ptr<function, Walk>) -> Survey {
    let count = min((*walk).remaining, RUN_QUADS);
    if count == 0u {
        return Survey();
    }
    if (*walk).is_over {
        next_stretch(walk);
    }
    var run = Run(0u, (*walk).rank, (*walk).quad, 0u);
    var proven = 0u;
    let end_bit = 4u * count;
    for (var at = 0u; at < end_bit; at += 4u) {
        let own = (*walk).own;
        let quad = (*walk).quad;
        let comparison = compare_footprints(own, footprints[quad]);
        // The candidates in the quad are the ranks after the entry and before its end.
        let first = quad * 4u;
        let begin = max((*walk).rank + 1u, first) - first;
        let end = end_of((*walk).end);
        let candidates = (1u << min(end - first, 4u)) - (1u << begin);
        let unproven = (*walk).end >> END_BITS;
        let is_unproven = (unproven == ALL_UNPROVEN) | ((own & FOOTPRINT_PLAIN) == 0u);
        let proven_end = select(end - unproven, first, is_unproven);
        let proven_bits = (1u << min(max(proven_end, first) - first, 4u)) - 1u;
        run.hits |= (comparison.survives & candidates) << at;
        proven |= (comparison.is_proven & proven_bits) << at;
        (*walk).quad = quad + 1u;
        (*walk).is_over = end <= first + 4u;
        if (*walk).is_over & (at + 4u < end_bit) {
            next_stretch(walk);
            run.turns |= 2u << (at / 4u);
        }
    }
    (*walk).remaining -= count;
    return Survey(run, proven);
}

// Returns the survivors that overlap and that the filters accept. Boxes of proven survivors are not loaded.
fn exact_hits(survey: Survey) -> u32 {
    let run = survey.run;
    var hits = run.hits & survey.proven;
    for (var word = run.hits & ~survey.proven; word != 0u; word &= word - 1u) {
        let bit = firstTrailingBit(word);
        let ranks = ranks_of(run, bit);
        let a = ordered_box(entries[ranks.x] & ENTRY_BOX);
        let b = ordered_box(entries[ranks.y] & ENTRY_BOX);
        hits |= select(0u, 1u << bit, overlap(a, b));
    }
    if IS_FILTERED {
        hits = filtered_hits(run, hits);
    }
    return hits;
}

// Returns the hits that the filters accept.
fn filtered_hits(run: Run, hits: u32) -> u32 {
    var filtered = hits;
    for (var word = hits; word != 0u; word &= word - 1u) {
        let bit = firstTrailingBit(word);
        let ranks = ranks_of(run, bit);
        if !passes(entries[ranks.x] & ENTRY_BOX, entries[ranks.y] & ENTRY_BOX) {
            filtered &= ~(1u << bit);
        }
    }
    return filtered;
}
