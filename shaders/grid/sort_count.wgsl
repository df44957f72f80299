// sort_count: how often each digit occurs in each tile of keys.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
//         keys_in      [n], four at a time
// Writes  histograms   [tiles * digits], tile by tile, within a tile digit by digit
// Additions commute, so their order does not matter.
// First of the three steps of one stable radix pass: reduce, then scan, then scatter (Merrill and Grimshaw 2011).

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> keys_in: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> histograms: array<u32>;

// The one behind those of the digits is for what lies behind the end.
var<workgroup> histogram: array<atomic<u32>, BALLOT_RADIX + 1u>;

@compute @workgroup_size(256)
fn sort_count(
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
    let radix = 1u << sort_pass.digit_bits;
    for (var bin = local; bin <= radix; bin += 256u) {
        atomicStore(&histogram[bin], 0u);
    }
    workgroupBarrier();
    let end = min((tile + 1u) * (SORT_TILE / 4u), div_ceil(n, 4u));
    for (var i = tile * (SORT_TILE / 4u) + local; i < end; i += 256u) {
        let digits = (keys_in[i] >> vec4<u32>(shift)) & vec4<u32>(radix - 1u);
        let behind = vec4<u32>(4u * i) + vec4<u32>(0u, 1u, 2u, 3u) >= vec4<u32>(n);
        let bins = select(digits, vec4<u32>(radix), behind);
        atomicAdd(&histogram[bins.x], 1u);
        atomicAdd(&histogram[bins.y], 1u);
        atomicAdd(&histogram[bins.z], 1u);
        atomicAdd(&histogram[bins.w], 1u);
    }
    workgroupBarrier();
    for (var digit = local; digit < radix; digit += 256u) {
        histograms[tile * radix + digit] = atomicLoad(&histogram[digit]);
    }
}
