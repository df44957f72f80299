// sort_scatter: moves each key and its value to its place by a digit of RADIX_BITS; equal digits keep their order.
//
// Reads   sort_pass    one SortPass
//         counts       for the key count
//         histograms   [sections * RADIX], and digit_sums [groups * RADIX], of sort_count, two at a time
//         keys_in, values_in     [n], four at a time
// Writes  keys_out, values_out   [n]
//
// One workgroup per section sorts the section tile by tile; further workgroups do nothing. Each invocation processes
// SORT_RUN consecutive keys of the tile. Its sixteen counts are packed two per word, and the eight words are scanned
// over the workgroup at once. Then the invocation writes its keys one after the other.
//
// Second step of a radix pass (Merrill and Grimshaw 2011, High performance and scalable radix sorting); several counts
// packed to a word as in Harada and Howes 2011, Introduction to GPU radix sort.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> histograms: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read> digit_sums: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> keys_in: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> values_in: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;

const WORDS: u32 = RADIX / 2u;
const SEGMENTS: u32 = 256u / WORDS;
const SEGMENT: u32 = 256u / SEGMENTS;

// Words from one list of 256 to the next. One word of padding per 32 words avoids bank conflicts: both if each
// invocation reads a segment, and if each reads a word of the same list.
const PITCH: u32 = 256u + 32u;

// [rank_index(word, invocation)] counts of earlier keys of the tile, for both digits of the word.
var<workgroup> ranks: array<u32, WORDS * PITCH>;
var<workgroup> segment_sums: array<u32, 256>;
// The count of each digit in all sections.
var<workgroup> totals: array<u32, RADIX>;
// For each digit, the first place of the tile's keys.
var<workgroup> places: array<u32, RADIX>;

fn rank_index(word: u32, invocation: u32) -> u32 {
    return word * PITCH + invocation + invocation / 32u;
}

@compute @workgroup_size(256)
fn sort_scatter(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let n = sort_length();
    let sections = sections_of(n);
    let section = group.x;
    if section >= sections.count {
        return;
    }
    var digits = Digits();
    if local < WORDS {
        digits = digits_of_section(section, sections.count, local, WORDS);
        totals[2u * local] = digits.totals.x;
        totals[2u * local + 1u] = digits.totals.y;
    }
    workgroupBarrier();
    if local < WORDS {
        var lower = 0u;
        for (var digit = 0u; digit < 2u * local; digit += 1u) {
            lower += totals[digit];
        }
        places[2u * local] = lower + digits.before.x;
        places[2u * local + 1u] = lower + digits.totals.x + digits.before.y;
    }
    let first = section * sections.tiles_each;
    for (var tile = first; tile < min(first + sections.tiles_each, sections.tile_count); tile += 1u) {
        sort_tile(tile, n, local);
    }
}

// Moves the keys and values of a tile, and adds the count of each digit to `places`. Every invocation of the workgroup
// must call it.
fn sort_tile(tile: u32, n: u32, local: u32) {
    let shift = sort_pass.shift;
    let first = tile * SORT_TILE + local * SORT_RUN;
    let end = min(first + SORT_RUN, n);
    for (var word = 0u; word < WORDS; word += 1u) {
        ranks[rank_index(word, local)] = 0u;
    }
    for (var i = first; i < end; i += 4u) {
        let keys = keys_in[i / 4u];
        let digits = (keys >> vec4<u32>(shift)) & vec4<u32>(RADIX - 1u);
        count(local, digits.x, i < end);
        count(local, digits.y, i + 1u < end);
        count(local, digits.z, i + 2u < end);
        count(local, digits.w, i + 3u < end);
    }
    workgroupBarrier();

    // Scan each word over the invocations, exclusively: first the sums of segments, then within each segment.
    let word = local / SEGMENTS;
    let segment = local % SEGMENTS;
    // A segment lies within 32 words, so it has no padding inside.
    let base = rank_index(word, segment * SEGMENT);
    var sum = 0u;
    for (var k = 0u; k < SEGMENT; k += 1u) {
        sum += ranks[base + k];
    }
    segment_sums[local] = sum;
    workgroupBarrier();
    var running = 0u;
    for (var k = 0u; k < segment; k += 1u) {
        running += segment_sums[word * SEGMENTS + k];
    }
    for (var k = 0u; k < SEGMENT; k += 1u) {
        let count = ranks[base + k];
        ranks[base + k] = running;
        running += count;
    }
    workgroupBarrier();

    for (var i = first; i < end; i += 4u) {
        let keys = keys_in[i / 4u];
        let digits = (keys >> vec4<u32>(shift)) & vec4<u32>(RADIX - 1u);
        let values = values_in[i / 4u];
        put(local, digits.x, keys.x, values.x, i < end);
        put(local, digits.y, keys.y, values.y, i + 1u < end);
        put(local, digits.z, keys.z, values.z, i + 2u < end);
        put(local, digits.w, keys.w, values.w, i + 3u < end);
    }
    workgroupBarrier();
    // The counts of the last invocation include all keys of the tile.
    if local < RADIX {
        places[local] += (ranks[rank_index(local / 2u, 255u)] >> ((local & 1u) * 16u)) & 0xffffu;
    }
    workgroupBarrier(); // before the next tile counts in the same words
}

fn count(local: u32, digit: u32, there: bool) {
    if there {
        ranks[rank_index(digit >> 1u, local)] += 1u << ((digit & 1u) * 16u);
    }
}

fn put(local: u32, digit: u32, key: u32, value: u32, there: bool) {
    if there {
        let at = rank_index(digit >> 1u, local);
        let half = (digit & 1u) * 16u;
        let rank = ranks[at];
        ranks[at] = rank + (1u << half);
        let place = places[digit] + ((rank >> half) & 0xffffu);
        keys_out[place] = key;
        values_out[place] = value;
    }
}
