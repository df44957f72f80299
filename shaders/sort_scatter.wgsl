// sort_scatter: moves each key and its value to its place by one digit; equal digits keep their order.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
//         histograms   [RADIX * tiles], of sort_scan
//         keys_in, values_in     [n]
// Writes  keys_out, values_out   [n]
// Each invocation takes SORT_RUN consecutive keys of the tile. Its sixteen counts are packed two to a word and
// scanned over the workgroup, eight words at a time; then it places its keys one after the other.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> histograms: array<u32>;
@group(0) @binding(3) var<storage, read> keys_in: array<u32>;
@group(0) @binding(4) var<storage, read> values_in: array<u32>;
@group(0) @binding(5) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;

const WORDS: u32 = RADIX / 2u;
const SEGMENTS: u32 = 256u / WORDS;
const SEGMENT: u32 = 256u / SEGMENTS;

// [word * 256 + invocation] keys before, within the tile, with either of the word's two digits.
var<workgroup> ranks: array<u32, WORDS * 256u>;
var<workgroup> segment_sums: array<u32, 256>;
var<workgroup> tile_offsets: array<u32, RADIX>;

@compute @workgroup_size(256)
fn sort_scatter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let n = select(counts.entry_count, counts.written, sort_pass.of_pairs == 1u);
    let tile_count = div_ceil(n, SORT_TILE);
    let first = tile * SORT_TILE + local * SORT_RUN;
    let end = min(first + SORT_RUN, n);

    if local < RADIX && tile < tile_count {
        tile_offsets[local] = histograms[local * tile_count + tile];
    }
    for (var i = first; i < end; i += 1u) {
        let digit = (keys_in[i] >> sort_pass.shift) & (RADIX - 1u);
        ranks[(digit >> 1u) * 256u + local] += 1u << ((digit & 1u) * 16u);
    }
    workgroupBarrier();

    // Exclusive scan of each word over the invocations: sums of segments first, then inside each.
    let word = local / SEGMENTS;
    let segment = local % SEGMENTS;
    let base = word * 256u + segment * SEGMENT;
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

    for (var i = first; i < end; i += 1u) {
        let key = keys_in[i];
        let digit = (key >> sort_pass.shift) & (RADIX - 1u);
        let at = (digit >> 1u) * 256u + local;
        let half = (digit & 1u) * 16u;
        let place = tile_offsets[digit] + ((ranks[at] >> half) & 0xffffu);
        ranks[at] += 1u << half;
        keys_out[place] = key;
        values_out[place] = values_in[i];
    }
}
