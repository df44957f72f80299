// events_find: finds the place of each pair of a step in the list of the last step, and marks the pairs of both lists
// that are events.
//
// Reads   step_params
//         header       of the list of the step; a header of pairs has the same first fields
//         last_step    pairs of the last step; boxes of the last step that had generations; these generations
//         pairs        of the step, in canonical order
//         last_pairs   of the last step, in canonical order
//         names        [box_count] NAMING_WAS: the index of each box in the last step; NAMING_GENERATIONS: its
//                      generation; otherwise not read
// Writes  before       places in the last list, or EVENT_CREATED
// Changes event_marks  zeros, to bits, counts of tiles and sums of groups
//
// One invocation per EVENT_RUN pairs. Both lists ascend. Unless boxes are renamed, the pairs of a span lie in the last
// list between the places of the span's first pair and of the next span's first pair. If few pairs changed, each pair
// has the same offset from the span's first pair in both lists, so the search begins at this offset. It finds other
// pairs one after the other, by bisection after the place of the previous pair. With renamed boxes, it tries the next
// place first, and then the whole list.
//
// Source: the binary searches of a merge path, Odeh, Green, Mwassi, Shmueli, Birk 2012, Merge path.

@group(0) @binding(0) var<uniform> step_params: StepParams;
@group(0) @binding(1) var<storage, read> header: QueryHeader;
@group(0) @binding(2) var<storage, read> last_step: array<u32>;
@group(0) @binding(3) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> last_pairs: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> names: array<u32>;
@group(0) @binding(6) var<storage, read_write> before: array<u32>;
@group(0) @binding(7) var<storage, read_write> event_marks: array<atomic<u32>>;

// For each span of the tile, and for the span after the tile: the first place in the last list whose pair is not before
// the span's first pair.
var<workgroup> span_ends: array<u32, EVENT_TILE / EVENT_SPAN + 1u>;
// The created and awake bits of the tile, and their counts. Then the counts of found pairs in EVENT_NEAR consecutive
// tiles of the last list.
var<workgroup> tile_bits: array<atomic<u32>, EVENT_TILE / 16u>;
var<workgroup> tile_counts: array<atomic<u32>, 2>;
var<workgroup> near_found: array<atomic<u32>, EVENT_NEAR>;
// The first of these EVENT_NEAR tiles.
var<private> near_tile: u32;
// A bit for each pair of the invocation: set if it is created.
var<private> created: u32;

// Returns whether box indices may differ from the last step.
fn is_renamed() -> bool {
    return step_params.naming == NAMING_WAS;
}

// Returns the index of a box in the last step, or EVENT_CREATED if it is new.
fn name_of(i: u32) -> u32 {
    if is_renamed() {
        return names[i];
    }
    var name = i;
    if step_params.naming == NAMING_GENERATIONS && i < last_step[1] {
        name = select(EVENT_CREATED, i, last_step[EVENT_GENERATIONS + i] == names[i]);
    }
    return name;
}

// Returns a pair with the indices that its boxes had in the last step. If a box is new, the second index is
// EVENT_CREATED. In a join, the second box keeps its index.
fn named(pair: vec2<u32>) -> vec2<u32> {
    let a = name_of(pair.x);
    if step_params.is_join != 0u {
        return select(vec2<u32>(a, pair.y), vec2<u32>(0u, EVENT_CREATED), a == EVENT_CREATED);
    }
    let b = name_of(pair.y);
    return vec2<u32>(min(a, b), max(a, b));
}

@compute @workgroup_size(256)
fn events_find(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let lengths = event_step(last_step[0]);
    // The condition is uniform, so all invocations return.
    if tile >= div_ceil(lengths.pair_count, EVENT_TILE) {
        return;
    }
    clear_tile(local);
    if local <= EVENT_TILE / EVENT_SPAN {
        let begin = tile * EVENT_TILE + local * EVENT_SPAN;
        span_ends[local] = lengths.last_count;
        if begin < lengths.pair_count && !is_renamed() {
            span_ends[local] = first_not_below(pairs[begin], lengths.last_count);
        }
    }
    workgroupBarrier();

    let first = tile * EVENT_TILE + local * EVENT_RUN;
    if first < lengths.pair_count {
        let count = min(EVENT_RUN, lengths.pair_count - first);
        let span = local * EVENT_RUN / EVENT_SPAN;
        if is_renamed() {
            near_tile = tile;
            find(first, first + count, first, vec2<u32>(0u, lengths.last_count));
        } else {
            near_tile = span_ends[0] / EVENT_TILE;
            let ends = vec2<u32>(span_ends[span], span_ends[span + 1u]);
            find(first, first + count, ends.x + first % EVENT_SPAN, ends);
        }
        let persisting = awake(~created & bits_up_to(count), first);
        atomicOr(&tile_bits[first % EVENT_TILE / 32u], created << (first % 32u));
        atomicOr(&tile_bits[EVENT_TILE / 32u + first % EVENT_TILE / 32u], persisting << (first % 32u));
        atomicAdd(&tile_counts[0], countOneBits(created));
        atomicAdd(&tile_counts[1], countOneBits(persisting));
    }
    workgroupBarrier();

    let word = tile * (EVENT_TILE / 32u) + local % (EVENT_TILE / 32u);
    if local < EVENT_TILE / 16u && word < div_ceil(lengths.pair_count, 32u) {
        let which = select(EVENT_IS_CREATED, EVENT_IS_AWAKE, local >= EVENT_TILE / 32u);
        atomicStore(&event_marks[bits_at(which, word)], atomicLoad(&tile_bits[local]));
    }
    if local < 2u {
        add_count(tile, local, atomicLoad(&tile_counts[local]));
    }
    if local < EVENT_NEAR {
        add_count(near_of_group(tile) + local, 2u, atomicLoad(&near_found[local]));
    }
}

// Sets the bits and counts of the workgroup's tile to zero.
fn clear_tile(local: u32) {
    if local < EVENT_TILE / 16u {
        atomicStore(&tile_bits[local], 0u);
    }
    if local < 2u {
        atomicStore(&tile_counts[local], 0u);
    }
    if local < EVENT_NEAR {
        atomicStore(&near_found[local], 0u);
    }
}

// Returns the first of the EVENT_NEAR tiles of the last list whose found pairs `near_found` counts.
fn near_of_group(tile: u32) -> u32 {
    return select(span_ends[0] / EVENT_TILE, tile, is_renamed());
}

// Adds to a count of a tile, and to the sum of its group.
fn add_count(tile: u32, which: u32, count: u32) {
    if count > 0u {
        atomicAdd(&event_marks[tile_at(tile) + which], count);
        atomicAdd(&event_marks[group_at(tile / EVENT_GROUP) + which], count);
    }
}

// Returns the first place in the last list whose pair is not before `pair`; `count` if there is none.
fn first_not_below(pair: vec2<u32>, count: u32) -> u32 {
    var first = 0u;
    var end = count;
    while first < end {
        let middle = first + (end - first) / 2u;
        if is_below(last_pairs[middle], pair) {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}

// Finds pairs `first` to before `behind` of the step at places `ends.x` to before `ends.y` of the last list. It first
// tries consecutive places from `likely` on.
fn find(first: u32, behind: u32, likely: u32, ends: vec2<u32>) {
    var k = 0u;
    while k < min(behind - first, ends.y - min(likely, ends.y)) && all(last_pairs[likely + k] == named(pairs[first + k])) {
        before[first + k] = likely + k;
        k += 1u;
    }
    let bits = (1u << k) - 1u;
    note_found(likely / 32u, bits << (likely % 32u));
    if likely % 32u + k > 32u {
        note_found(likely / 32u + 1u, bits >> (32u - likely % 32u));
    }
    search_each(first + k, behind, ends);
}

// Marks pairs of the last list as found: the `bits` of this word. The first invocation that sets a bit counts it.
fn note_found(word: u32, bits: u32) {
    if bits != 0u {
        let fresh = countOneBits(bits & ~atomicOr(&event_marks[bits_at(EVENT_FOUND, word)], bits));
        let tile = word / (EVENT_TILE / 32u);
        if tile - near_tile < EVENT_NEAR {
            atomicAdd(&near_found[tile - near_tile], fresh);
        } else {
            add_count(tile, 2u, fresh);
        }
    }
}

// Returns whether a box sleeps or is fixed.
fn rests(i: u32) -> bool {
    var bit = 0u;
    if filter_layout.fixed != ABSENT {
        bit |= bit_of(filter_layout.fixed, i);
    }
    if filter_layout.sleeping != ABSENT {
        bit |= bit_of(filter_layout.sleeping, i);
    }
    return bit != 0u;
}

// Returns the bits without the bits of pairs at rest. Bit 0 is for pair `first`.
fn awake(bits: u32, first: u32) -> u32 {
    var all = bits;
    if (filter_layout.fixed & filter_layout.sleeping) != ABSENT {
        var rest = bits;
        while rest != 0u {
            let pair = pairs[first + firstTrailingBit(rest)];
            let bit = rest & (0u - rest);
            all ^= select(0u, bit, rests(pair.x) && rests(pair.y));
            rest ^= bit;
        }
    }
    return all;
}

// Finds pairs `first` to before `behind` of the step, one after the other, at places `ends.x` to before `ends.y` of the
// last list.
fn search_each(first: u32, behind: u32, ends: vec2<u32>) {
    // The search for a pair starts after the place of the previous pair, unless boxes are renamed. Renamed pairs do not
    // ascend, but most are still adjacent.
    var low = ends.x;
    var next = ends.y;
    for (var i = first; i < behind; i += 1u) {
        let pair = named(pairs[i]);
        var place = EVENT_CREATED;
        if pair.y != EVENT_CREATED {
            var lookup = Lookup(next, false);
            if is_renamed() && next < ends.y {
                lookup.is_there = all(last_pairs[next] == pair);
            }
            if !lookup.is_there {
                lookup = look_up(pair, low, ends);
            }
            if lookup.is_there {
                place = lookup.place;
                note_found(place / 32u, 1u << (place % 32u));
            }
            next = lookup.place + u32(lookup.is_there);
            low = select(next, low, is_renamed());
        }
        before[i] = place;
        created |= u32(place == EVENT_CREATED) << (i % EVENT_RUN);
    }
}

struct Lookup {
    place: u32,               // the first place whose pair is not before the searched pair
    is_there: bool,           // true if both pairs are equal
}

// Looks up a pair at places `low` to before `ends.y` of the last list. The pair is likely near `low`, so the step of
// the search first doubles; a bisection follows.
fn look_up(pair: vec2<u32>, low: u32, ends: vec2<u32>) -> Lookup {
    var first = low;
    var end = ends.y;
    var is_there = false;
    // The limit of the step; zero means no limit.
    var most = select(1u, 0u, low == ends.x);
    while first < end {
        let middle = first + min(most - 1u, (end - first) / 2u);
        let other = last_pairs[middle];
        if is_below(other, pair) {
            first = middle + 1u;
            most *= 2u;
        } else {
            end = middle;
            is_there = all(other == pair);
        }
    }
    return Lookup(first, is_there);
}
