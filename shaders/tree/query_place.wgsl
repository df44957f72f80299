// query_place: where the list of each query begins within its block of 256 queries, how long those of the block are, and how many
// are too long to have been kept.
//
// Reads   query
// Changes offsets   [query_count] (low, high) from counts to the answers before within the block
// Writes  blocks    [workgroups] (low, high) answers of each block, fewer than 2^40; LONG_LIST for each long list
// Source: reduce, then scan, Blelloch 1990, Prefix sums and their applications.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read_write> offsets: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> blocks: array<vec2<u32>>;

@compute @workgroup_size(256)
fn query_place(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let i = block * 256u + local;
    var own = vec2<u32>(0u);
    if i < query.query_count {
        own = offsets[i].xy;
        own.y = select(0u, LONG_LIST, own.x > query.kept);
    }
    let scan = scan_workgroup64(local, own);
    if i < query.query_count {
        offsets[i] = vec4<u32>(scan.before.x, scan.before.y % LONG_LIST, 0u, 0u);
    }
    if local == 0u && block * 256u < query.query_count {
        blocks[block] = scan.total;
    }
}
