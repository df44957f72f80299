// query_offset: where the list of each query begins.
//
// Reads   query
//         blocks    [query_count / 256, rounded up] (low, high), of query_scan
// Changes offsets   [query_count] (low, high) from the answers before within the block to all before

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read> blocks: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> offsets: array<vec4<u32>>;

@compute @workgroup_size(256)
fn query_offset(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let i = block * 256u + local;
    if i < query.query_count {
        offsets[i] = vec4<u32>(add64(offsets[i].xy, blocks[block]), 0u, 0u);
    }
}
