// sort_count: how often each digit occurs in each tile of keys.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
//         keys_in      [n]
// Writes  histograms   [RADIX * tiles], digit by digit, within a digit tile by tile
// First of the three steps of one stable radix pass: reduce, then scan, then scatter (Merrill and Grimshaw
// 2011). Additions to the histogram commute, so their order does not matter.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> keys_in: array<u32>;
@group(0) @binding(3) var<storage, read_write> histograms: array<u32>;

var<workgroup> histogram: array<atomic<u32>, RADIX>;

@compute @workgroup_size(256)
fn sort_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let n = select(counts.entry_count, counts.written, sort_pass.of_pairs == 1u);
    let tile_count = div_ceil(n, SORT_TILE);
    let end = min((tile + 1u) * SORT_TILE, n);
    for (var i = tile * SORT_TILE + local; i < end; i += 256u) {
        atomicAdd(&histogram[(keys_in[i] >> sort_pass.shift) & (RADIX - 1u)], 1u);
    }
    workgroupBarrier();
    if local < RADIX && tile < tile_count {
        histograms[local * tile_count + tile] = atomicLoad(&histogram[local]);
    }
}
