// sort_wide: moves each key and its value to its place by a digit of WIDE_BITS; equal digits keep their order.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
//         histograms   [tiles * WIDE_RADIX + WIDE_RADIX], of sort_rows
//         keys_in, values_in     [n], four at a time
// Writes  keys_out, values_out   [n]
// sort_scatter for processors whose workgroups do not hide latency, such as software adapters: so few invocations
// that each of them can keep the place of every digit, and half the passes. Each takes a long run of consecutive keys
// of the tile.
// Source: a histogram for each processor, Zagha and Blelloch 1991, Radix sort for vector multiprocessors.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> histograms: array<u32>;
@group(0) @binding(3) var<storage, read> keys_in: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> values_in: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;

const RUN: u32 = SORT_TILE / WIDE_LANES;
const DIGITS: u32 = WIDE_RADIX / WIDE_LANES;

// [digit * WIDE_LANES + invocation] counts of the invocation's keys, then the places of the next of them.
var<workgroup> places: array<u32, WIDE_RADIX * WIDE_LANES>;
// How many keys have one of the digits that the invocation looks after.
var<workgroup> sums: array<u32, WIDE_LANES>;

@compute @workgroup_size(WIDE_LANES)
fn sort_wide(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let n = sort_length();
    let shift = sort_shift();
    let tile_count = div_ceil(n, SORT_TILE);
    let first = tile * SORT_TILE + local * RUN;
    let end = min(first + RUN, n);

    for (var i = first; i < end; i += 4u) {
        let keys = keys_in[i / 4u];
        let digits = (keys >> vec4<u32>(shift)) & vec4<u32>(WIDE_RADIX - 1u);
        count(local, digits.x, i < end);
        count(local, digits.y, i + 1u < end);
        count(local, digits.z, i + 2u < end);
        count(local, digits.w, i + 3u < end);
    }
    let digits_end = select(0u, (local + 1u) * DIGITS, tile < tile_count);
    let totals = WIDE_RADIX * tile_count;
    var sum = 0u;
    for (var digit = local * DIGITS; digit < digits_end; digit += 1u) {
        sum += histograms[totals + digit];
    }
    sums[local] = sum;
    workgroupBarrier();
    var start = 0u;
    for (var k = 0u; k < local; k += 1u) {
        start += sums[k];
    }
    for (var digit = local * DIGITS; digit < digits_end; digit += 1u) {
        var running = start + histograms[tile * WIDE_RADIX + digit];
        start += histograms[totals + digit];
        for (var k = 0u; k < WIDE_LANES; k += 1u) {
            let own = places[digit * WIDE_LANES + k];
            places[digit * WIDE_LANES + k] = running;
            running += own;
        }
    }
    workgroupBarrier();
    for (var i = first; i < end; i += 4u) {
        let keys = keys_in[i / 4u];
        let digits = (keys >> vec4<u32>(shift)) & vec4<u32>(WIDE_RADIX - 1u);
        let values = values_in[i / 4u];
        put(local, digits.x, keys.x, values.x, i < end);
        put(local, digits.y, keys.y, values.y, i + 1u < end);
        put(local, digits.z, keys.z, values.z, i + 2u < end);
        put(local, digits.w, keys.w, values.w, i + 3u < end);
    }
}

fn count(local: u32, digit: u32, there: bool) {
    if there {
        places[digit * WIDE_LANES + local] += 1u;
    }
}

fn put(local: u32, digit: u32, key: u32, value: u32, there: bool) {
    if there {
        let place = places[digit * WIDE_LANES + local];
        places[digit * WIDE_LANES + local] = place + 1u;
        keys_out[place] = key;
        values_out[place] = value;
    }
}
