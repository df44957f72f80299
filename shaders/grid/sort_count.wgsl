// sort_count: counts each digit in each section of keys, and in each group of sections.
//
// Reads   sort_pass    one SortPass
//         counts       for the key count
//         keys_in      [n], four at a time
// Writes  histograms   [sections * digits], section by section, within a section digit by digit
// Changes digit_sums   [groups * digits] the same of groups, added to zeros
//
// One workgroup per section; further workgroups do nothing. This is the first of the two steps of a stable radix pass:
// reduce, then scan and scatter (Merrill and Grimshaw 2011).

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> keys_in: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> histograms: array<u32>;
@group(0) @binding(4) var<storage, read_write> digit_sums: array<atomic<u32>>;

@compute @workgroup_size(256)
fn sort_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let n = sort_length();
    let section = group.x;
    let sections = sections_of(n);
    if section >= sections.count {
        return;
    }
    clear_histogram(local);
    let length = sections.tiles_each * (SORT_TILE / 4u);
    let end = min((section + 1u) * length, div_ceil(n, 4u));
    for (var i = section * length + local; i < end; i += 256u) {
        let keys = keys_in[i];
        let digits = vec4<u32>(digit_of(keys.x), digit_of(keys.y), digit_of(keys.z), digit_of(keys.w));
        let behind = vec4<u32>(4u * i) + vec4<u32>(0u, 1u, 2u, 3u) >= vec4<u32>(n);
        let bins = select(digits, vec4<u32>(1u << sort_pass.digit_bits), behind);
        atomicAdd(&histogram[bins.x], 1u);
        atomicAdd(&histogram[bins.y], 1u);
        atomicAdd(&histogram[bins.z], 1u);
        atomicAdd(&histogram[bins.w], 1u);
    }
    write_histogram(section, local);
}
