// query_place: computes the begin of each query's list within its block of 256 queries, the sum of lengths of the
// block, and the count of lists that are too long to be retained.
//
// Reads   query
// Changes offsets   [query_count] (low, high) from counts to the answers before within the block
//         blocks    zeros, to three words for each group of QUERY_GROUP blocks, then for each block: the answers, fewer
//                   than 2^40 in a block, as sums in two words (scan.wgsl), and the long lists
//
// Source: reduce, then scan, Blelloch 1990, Prefix sums and their applications.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read_write> offsets: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> blocks: array<atomic<u32>>;

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
        own.y = select(0u, LONG_LIST, own.x > query.retained_count);
    }
    let scan = scan_workgroup64(local, own);
    if i < query.query_count {
        offsets[i] = vec4<u32>(scan.before.x, scan.before.y % LONG_LIST, 0u, 0u);
    }
    let block_count = div_ceil(query.query_count, 256u);
    if local == 0u && block < block_count {
        let answers = halves_of(vec2<u32>(scan.total.x, scan.total.y % LONG_LIST));
        let words = array<u32, 3>(answers.x, answers.y, scan.total.y / LONG_LIST);
        let sums = 3u * (block / QUERY_GROUP);
        let place = 3u * (div_ceil(block_count, QUERY_GROUP) + block);
        atomicAdd(&blocks[sums], words[0]);
        atomicAdd(&blocks[sums + 1u], words[1]);
        atomicAdd(&blocks[sums + 2u], words[2]);
        atomicStore(&blocks[place], words[0]);
        atomicStore(&blocks[place + 1u], words[1]);
        atomicStore(&blocks[place + 2u], words[2]);
    }
}
