// query_offset: computes the begin of each query's list, the total length, and the count of answers in the window.
//
// Reads   query, window
//         blocks         of query_place
// Changes offsets        [query_count] (low, high) from the answers before within the block to all before; and all
//                        answers behind them
// Writes  answer_counts  written, if they must be sorted; 0 if all lists were retained, which are sorted already
//
// One workgroup per block of 256 queries, at least one.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read> blocks: array<u32>;
@group(0) @binding(3) var<storage, read_write> offsets: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> answer_counts: Counts;

@compute @workgroup_size(256)
fn query_offset(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block_count = div_ceil(query.query_count, 256u);
    let group_count = div_ceil(block_count, QUERY_GROUP);
    // A two-dimensional dispatch may have more workgroups than blocks.
    let block = min(group_index(group, groups), block_count);
    let own_group = block / QUERY_GROUP;
    var before = vec2<u32>(0u);
    for (var k = local; k < own_group; k += 256u) {
        before = add64(before, answers_at(k));
    }
    if own_group * QUERY_GROUP + local < block {
        before = add64(before, answers_at(group_count + own_group * QUERY_GROUP + local));
    }
    before = scan_workgroup64(local, before).total;
    let i = block * 256u + local;
    if i < query.query_count {
        offsets[i] = vec4<u32>(add64(offsets[i].xy, before), 0u, 0u);
    }
    // The condition is uniform for the workgroup.
    if group.x + group.y == 0u {
        var all = vec2<u32>(0u);
        var long_lists = 0u;
        for (var k = local; k < group_count; k += 256u) {
            all = add64(all, answers_at(k));
            long_lists += blocks[3u * k + 2u];
        }
        all = scan_workgroup64(local, all).total;
        long_lists = scan_workgroup(local, long_lists).total;
        if local == 0u {
            offsets[query.query_count] = vec4<u32>(all, 0u, 0u);
            answer_counts.written = select(0u, window_length(all, window), long_lists > 0u);
        }
    }
}

// Returns the answer count of element k of `blocks`: groups first, then blocks.
fn answers_at(k: u32) -> vec2<u32> {
    return from_halves(vec2<u32>(blocks[3u * k], blocks[3u * k + 1u]));
}
