// sort_ballot: moves each key and its value to its place by a digit of eight or nine bits; equal digits keep their
// order.
//
// Reads   sort_pass    one SortPass
//         counts       for the key count
//         histograms   [sections * digits], and digit_sums [groups * digits], of sort_count, two at a time
//         keys_in, values_in     [n]
// Writes  keys_out, values_out   [n]
//
// One workgroup per section sorts the section tile by tile; further workgroups do nothing. Each subgroup processes
// consecutive keys of the tile. In each round, every invocation processes one key, and nine ballots find the
// invocations with the same digit (Ashkiani et al. 2016, "GPU multisplit"). Two digits share a word of counts. The
// lowest invocation with either digit adds for all invocations with these digits. So each word has one writer per
// round, and one barrier between rounds suffices. A scan of the counts over subgroups and digits gives each key its
// position in the sorted tile. Workgroup memory holds the tile's keys, then its values, in sorted order, so that
// adjacent invocations mostly write adjacent words.
//
// Keys are in registers, four per vector, since dynamically indexed arrays spill to memory. Missing keys after the end
// are all ones and sort last, so only loads and stores test for the end. Subgroups must have 8 to 64 invocations (16 to
// 64 with nine bits) and divide the workgroup evenly.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> histograms: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read> digit_sums: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> keys_in: array<u32>;
@group(0) @binding(4) var<storage, read> values_in: array<u32>;
@group(0) @binding(5) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;

// True if subgroups may have more than 32 invocations.
override UP_TO_64: bool = false;

// Holds one after the other: the counts of up to 32 subgroups, [subgroup * words + word]; the tile's keys in sorted
// order; for each digit, the place of a key minus its position in the sorted tile; the tile's values in sorted order.
var<workgroup> tile_words: array<u32, SORT_TILE>;

// The constants of an invocation.
struct Lane {
    index: u32,               // in its subgroup
    local: u32,               // in the workgroup, subgroup by subgroup
    width: u32,               // of the subgroup
    counts_at: u32,           // place of the subgroup's counts
    active_lanes: vec2<u32>,  // a bit for each invocation of the subgroup
    below: vec2<u32>,         // the same, with a lower index
    shift: u32,
    words: u32,               // per subgroup; word w counts digits 2 w and 2 w + 1, a half each
}

fn lane_of(index: u32, width: u32, subgroup: u32) -> Lane {
    let below = vec2<u32>(
        select((1u << index) - 1u, 0xffffffffu, index >= 32u),
        select(0u, (1u << (index & 31u)) - 1u, index >= 32u),
    );
    let all = subgroupBallot(true).xy;
    let words = (1u << sort_pass.digit_bits) / 2u;
    return Lane(index, subgroup * width + index, width, subgroup * words, all, below, sort_pass.shift, words);
}

// Returns the digits of four keys.
fn digits_of(keys: vec4<u32>, lane: Lane) -> vec4<u32> {
    return (keys >> vec4<u32>(lane.shift)) & vec4<u32>(2u * lane.words - 1u);
}

// Returns the key at `at`, or all ones after the last key.
fn key_at(at: u32, n: u32) -> u32 {
    var key = 0xffffffffu;
    if at < n {
        key = keys_in[at];
    }
    return key;
}

fn value_at(at: u32, n: u32) -> u32 {
    var value = 0u;
    if at < n {
        value = values_in[at];
    }
    return value;
}

fn four_keys(at: u32, step: u32, n: u32) -> vec4<u32> {
    return vec4<u32>(key_at(at, n), key_at(at + step, n), key_at(at + 2u * step, n), key_at(at + 3u * step, n));
}

fn four_values(at: u32, step: u32, n: u32) -> vec4<u32> {
    return vec4<u32>(value_at(at, n), value_at(at + step, n), value_at(at + 2u * step, n), value_at(at + 3u * step, n));
}

// Returns the invocations of the subgroup whose digits equal `digit` in this bit.
fn with_bit(digit: u32, bit: u32) -> vec2<u32> {
    let is_set = (digit & bit) != 0u;
    let ones = subgroupBallot(is_set).xy;
    if UP_TO_64 {
        return select(~ones, ones, is_set);
    }
    return vec2<u32>(select(~ones.x, ones.x, is_set), 0u);
}

fn number_of(lanes: vec2<u32>) -> u32 {
    if UP_TO_64 {
        let ones = countOneBits(lanes);
        return ones.x + ones.y;
    }
    return countOneBits(lanes.x);
}

// Returns the lowest index of these invocations.
fn first_of(lanes: vec2<u32>) -> u32 {
    if UP_TO_64 && lanes.x == 0u {
        return 32u + firstTrailingBit(lanes.y);
    }
    return firstTrailingBit(lanes.x);
}

// Sets the counts of all subgroups to zero.
fn clear_counts(lane: Lane, subgroups: u32) {
    for (var i = lane.local; i < subgroups * lane.words; i += 256u) {
        tile_words[i] = 0u;
    }
}

// Executes a round, and returns the count of earlier keys with this digit in the subgroup's part of the tile. Every
// invocation of the workgroup must call it.
fn rank_of(digit: u32, lane: Lane) -> u32 {
    // No loop, since compilers do not unroll loops that naga bounds. The highest bit is zero for digits of eight bits.
    let upper = with_bit(digit, 32u) & with_bit(digit, 64u) & with_bit(digit, 128u) & with_bit(digit, 256u);
    let lower = with_bit(digit, 2u) & with_bit(digit, 4u) & with_bit(digit, 8u) & with_bit(digit, 16u);
    let with_word = lane.active_lanes & upper & lower;
    let with_digit = with_word & with_bit(digit, 1u);
    let lowest = first_of(with_word);
    let half = (digit & 1u) * 16u;
    var before = 0u;
    if lane.index == lowest {
        let at = lane.counts_at + (digit >> 1u);
        let own = number_of(with_digit);
        let other = number_of(with_word) - own;
        before = tile_words[at];
        tile_words[at] = before + (own << half) + (other << (16u - half));
    }
    before = subgroupShuffle(before, lowest);
    // Finish this round's counts before the next round, and all counts before they are read.
    workgroupBarrier();
    return ((before >> half) & 0xffffu) + number_of(with_digit & lane.below);
}

fn four_ranks(keys: vec4<u32>, lane: Lane) -> vec4<u32> {
    let digits = digits_of(keys, lane);
    let x = rank_of(digits.x, lane);
    let y = rank_of(digits.y, lane);
    let z = rank_of(digits.z, lane);
    let w = rank_of(digits.w, lane);
    return vec4<u32>(x, y, z, w);
}

// Adds up the values of all invocations before this one. Overwrites the first words of `tile_words`. Every invocation
// of the workgroup must call it.
fn sum_before(lane: Lane, subgroup: u32, value: u32) -> u32 {
    var sum = subgroupExclusiveAdd(value);
    if lane.index + 1u == lane.width {
        tile_words[subgroup] = sum + value;
    }
    workgroupBarrier();
    for (var k = 0u; k < subgroup; k += 1u) {
        sum += tile_words[k];
    }
    workgroupBarrier();
    return sum;
}

// Returns the places at which the section's keys with the invocation's two digits begin. Every invocation must call it.
fn places_in(section: u32, section_count: u32, lane: Lane, subgroup: u32) -> vec2<u32> {
    var digits = Digits();
    if lane.local < lane.words {
        digits = digits_of_section(section, section_count, lane.local, lane.words);
    }
    let lower = sum_before(lane, subgroup, digits.totals.x + digits.totals.y);
    return digits.before + vec2<u32>(lower, lower + digits.totals.x);
}

// The invocation's two digits in a tile.
struct TileDigits {
    positions: vec2<u32>,     // begin of the digit's keys in the sorted tile
    counts: vec2<u32>,
}

// Replaces each count, of a subgroup and a digit, by the position in the sorted tile at which the counted keys begin.
// Every invocation must call it.
fn scan_digits(lane: Lane, subgroup: u32, subgroups: u32) -> TileDigits {
    let word = lane.local;
    var own = 0u;
    if word < lane.words {
        for (var k = 0u; k < subgroups; k += 1u) {
            own += tile_words[k * lane.words + word];
        }
    }
    let counts = vec2<u32>(own & 0xffffu, own >> 16u);
    let first = select(0u, tile_words[word & (lane.words - 1u)], word < lane.words);
    // The first subgroup's counts are in registers, so sum_before can overwrite their words.
    workgroupBarrier();
    let base = sum_before(lane, subgroup, counts.x + counts.y);
    if word < lane.words {
        var running = base | ((base + counts.x) << 16u);
        tile_words[word] = running;
        running += first;
        for (var k = 1u; k < subgroups; k += 1u) {
            let count = tile_words[k * lane.words + word];
            tile_words[k * lane.words + word] = running;
            running += count;
        }
    }
    workgroupBarrier();
    return TileDigits(vec2<u32>(base, base + counts.x), counts);
}

// Returns the positions of four keys in the sorted tile.
fn four_positions(keys: vec4<u32>, ranks: vec4<u32>, lane: Lane) -> vec4<u32> {
    let digits = digits_of(keys, lane);
    let at = vec4<u32>(lane.counts_at) + (digits >> vec4<u32>(1u));
    let words = vec4<u32>(tile_words[at.x], tile_words[at.y], tile_words[at.z], tile_words[at.w]);
    return ((words >> ((digits & vec4<u32>(1u)) * 16u)) & vec4<u32>(0xffffu)) + ranks;
}

fn lay_out(positions: vec4<u32>, words: vec4<u32>) {
    tile_words[positions.x] = words.x;
    tile_words[positions.y] = words.y;
    tile_words[positions.z] = words.z;
    tile_words[positions.w] = words.w;
}

// Stores, for the invocation's two digits, the place of a key minus its position in the sorted tile.
fn lay_out_shifts(shifts: vec2<u32>, lane: Lane) {
    if lane.local < lane.words {
        tile_words[2u * lane.local] = shifts.x;
        tile_words[2u * lane.local + 1u] = shifts.y;
    }
}

// Returns the words at positions `at`, `at + 256`, `at + 512` and `at + 768`.
fn four_words(at: u32) -> vec4<u32> {
    return vec4<u32>(tile_words[at], tile_words[at + 256u], tile_words[at + 512u], tile_words[at + 768u]);
}

// Writes four keys, and returns their places.
fn put_keys(keys: vec4<u32>, position: u32, length: u32, lane: Lane) -> vec4<u32> {
    let digits = digits_of(keys, lane);
    let starts = vec4<u32>(tile_words[digits.x], tile_words[digits.y], tile_words[digits.z], tile_words[digits.w]);
    let places = starts + vec4<u32>(position) + vec4<u32>(0u, 256u, 512u, 768u);
    if position < length {
        keys_out[places.x] = keys.x;
    }
    if position + 256u < length {
        keys_out[places.y] = keys.y;
    }
    if position + 512u < length {
        keys_out[places.z] = keys.z;
    }
    if position + 768u < length {
        keys_out[places.w] = keys.w;
    }
    return places;
}

fn put_values(values: vec4<u32>, places: vec4<u32>, position: u32, length: u32) {
    if position < length {
        values_out[places.x] = values.x;
    }
    if position + 256u < length {
        values_out[places.y] = values.y;
    }
    if position + 512u < length {
        values_out[places.z] = values.z;
    }
    if position + 768u < length {
        values_out[places.w] = values.w;
    }
}

// Moves the keys and values of a tile. `places` are the first places of the keys with the invocation's two digits.
// Returns these places for the next tile. Every invocation of the workgroup must call it.
fn sort_tile(tile: u32, n: u32, places: vec2<u32>, lane: Lane, subgroup: u32, subgroups: u32) -> vec2<u32> {
    let first = tile * SORT_TILE + subgroup * SORT_RUN * lane.width + lane.index;
    let width = lane.width;
    let step = 4u * width;

    clear_counts(lane, subgroups);
    workgroupBarrier();
    // Issue all loads before any result is used, and load the values before the scan.
    let keys_a = four_keys(first, width, n);
    let keys_b = four_keys(first + step, width, n);
    let keys_c = four_keys(first + 2u * step, width, n);
    let keys_d = four_keys(first + 3u * step, width, n);
    let ranks_a = four_ranks(keys_a, lane);
    let ranks_b = four_ranks(keys_b, lane);
    let ranks_c = four_ranks(keys_c, lane);
    let ranks_d = four_ranks(keys_d, lane);
    let values_a = four_values(first, width, n);
    let values_b = four_values(first + step, width, n);
    let values_c = four_values(first + 2u * step, width, n);
    let values_d = four_values(first + 3u * step, width, n);
    let digits = scan_digits(lane, subgroup, subgroups);
    let positions_a = four_positions(keys_a, ranks_a, lane);
    let positions_b = four_positions(keys_b, ranks_b, lane);
    let positions_c = four_positions(keys_c, ranks_c, lane);
    let positions_d = four_positions(keys_d, ranks_d, lane);
    workgroupBarrier();

    lay_out(positions_a, keys_a);
    lay_out(positions_b, keys_b);
    lay_out(positions_c, keys_c);
    lay_out(positions_d, keys_d);
    workgroupBarrier();
    let at = lane.local;
    let sorted_a = four_words(at);
    let sorted_b = four_words(at + 1024u);
    let sorted_c = four_words(at + 2048u);
    let sorted_d = four_words(at + 3072u);
    workgroupBarrier();
    lay_out_shifts(places - digits.positions, lane);
    workgroupBarrier();
    let length = n - min(n, tile * SORT_TILE);
    let places_a = put_keys(sorted_a, at, length, lane);
    let places_b = put_keys(sorted_b, at + 1024u, length, lane);
    let places_c = put_keys(sorted_c, at + 2048u, length, lane);
    let places_d = put_keys(sorted_d, at + 3072u, length, lane);
    workgroupBarrier();

    lay_out(positions_a, values_a);
    lay_out(positions_b, values_b);
    lay_out(positions_c, values_c);
    lay_out(positions_d, values_d);
    workgroupBarrier();
    put_values(four_words(at), places_a, at, length);
    put_values(four_words(at + 1024u), places_b, at + 1024u, length);
    put_values(four_words(at + 2048u), places_c, at + 2048u, length);
    put_values(four_words(at + 3072u), places_d, at + 3072u, length);
    workgroupBarrier(); // before the next tile counts in the same words
    return places + digits.counts;
}

@compute @workgroup_size(256)
fn sort_ballot(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(subgroup_invocation_id) index: u32,
    @builtin(subgroup_size) width: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
) {
    let n = sort_length();
    let sections = sections_of(n);
    let section = group.x;
    if section >= sections.count {
        return;
    }
    let lane = lane_of(index, width, subgroup);
    var places = places_in(section, sections.count, lane, subgroup);
    let first = section * sections.tiles_each;
    for (var tile = first; tile < min(first + sections.tiles_each, sections.tile_count); tile += 1u) {
        places = sort_tile(tile, n, places, lane, subgroup, subgroups);
    }
}
