// sort_scatter: moves each key and its value to its place by a digit of RADIX_BITS; equal digits keep their order.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
//         histograms   [tiles * RADIX + RADIX], of sort_scan
//         keys_in, values_in     [n], four at a time
// Writes  keys_out, values_out   [n]
// Each invocation takes SORT_RUN consecutive keys of the tile. Its sixteen counts are packed two to a word and
// scanned over the workgroup, eight words at a time; then it places its keys one after the other.
// Third step of a radix pass (Merrill and Grimshaw 2011, High performance and scalable radix sorting); several counts
// packed to a word as in Harada and Howes 2011, Introduction to GPU radix sort.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> histograms: array<u32>;
@group(0) @binding(3) var<storage, read> keys_in: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> values_in: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;

const WORDS: u32 = RADIX / 2u;
const SEGMENTS: u32 = 256u / WORDS;
const SEGMENT: u32 = 256u / SEGMENTS;

// Words from one list of 256 to the next. With a word left out behind each 32, invocations that take a segment each are
// at different banks, and so are those that take a word each of any list.
const PITCH: u32 = 256u + 32u;

// [rank_index(word, invocation)] keys before, within the tile, with either of the word's two digits.
var<workgroup> ranks: array<u32, WORDS * PITCH>;
var<workgroup> segment_sums: array<u32, 256>;
// How often each digit occurs in all tiles.
var<workgroup> totals: array<u32, RADIX>;
var<workgroup> tile_offsets: array<u32, RADIX>;

fn rank_index(word: u32, invocation: u32) -> u32 {
    return word * PITCH + invocation + invocation / 32u;
}

@compute @workgroup_size(256)
fn sort_scatter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    if tile >= scanned_tiles() {
        return;
    }
    let n = sort_length();
    let shift = sort_shift();
    let tile_count = div_ceil(n, SORT_TILE);
    let first = tile * SORT_TILE + local * SORT_RUN;
    let end = min(first + SORT_RUN, n);

    for (var word = 0u; word < WORDS; word += 1u) {
        ranks[rank_index(word, local)] = 0u;
    }
    var tile_offset = 0u;
    var total = 0u;
    if local < RADIX {
        tile_offset = histograms[tile * RADIX + local];
        total = histograms[RADIX * tile_count + local];
    }
    if local < RADIX {
        totals[local] = total;
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

    // Exclusive scan of each word over the invocations: sums of segments first, then inside each.
    let word = local / SEGMENTS;
    let segment = local % SEGMENTS;
    // A segment lies within 32 words, so nothing is left out inside.
    let base = rank_index(word, segment * SEGMENT);
    var sum = 0u;
    for (var k = 0u; k < SEGMENT; k += 1u) {
        sum += ranks[base + k];
    }
    segment_sums[local] = sum;
    if local < RADIX {
        for (var digit = 0u; digit < local; digit += 1u) {
            tile_offset += totals[digit];
        }
        tile_offsets[local] = tile_offset;
    }
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
        let place = tile_offsets[digit] + ((rank >> half) & 0xffffu);
        keys_out[place] = key;
        values_out[place] = value;
    }
}
