// emit_include: writes the included pairs in the window.
//
// Reads   params, window
//         counts    pairs in all, of emit_sweep
//         included  [include_count] (a, b), a < b, ascending
// Writes  pairs     [window.capacity] behind all others

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<uniform> counts: Counts;
@group(0) @binding(3) var<storage, read> included: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn emit_include(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i < params.include_count && counts.refused == 0u {
        let found = sub64(vec2<u32>(counts.pair_low, counts.pair_high), vec2<u32>(params.include_count, 0u));
        write_pair(add64(found, vec2<u32>(i, 0u)), included[i]);
    }
}
