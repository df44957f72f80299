// query_ends: writes offsets or flags, header and arguments of answers that stay on the device.
//
// Reads   query, window
//         rounds     of query_pending
//         offsets    with QUERY_LISTS [query_count + 1] the begin of each query's list; with QUERY_ANY [query_count]
//                    the count of boxes that it met, at least one if any
// Writes  ends       with QUERY_LISTS [2 * query_count + 2] the begins, low and high, query by query; with QUERY_ANY
//                    [query_count] 1 or 0
//         header     the count of answers, and the count of written ones
//         arguments  with QUERY_LISTS: of a dispatch and of draws of the written answers
//
// One invocation per word of `ends`; a single invocation if nothing is listed.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read> rounds: array<Round>;
@group(0) @binding(3) var<storage, read> offsets: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> ends: array<u32>;
@group(0) @binding(5) var<storage, read_write> header: QueryHeader;
@group(0) @binding(6) var<storage, read_write> arguments: PairArguments;

@compute @workgroup_size(256)
fn query_ends(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if (query.flags & QUERY_ANY) != 0u && i < query.query_count {
        ends[i] = offsets[i].x;
    }
    if (query.flags & QUERY_LISTS) != 0u && i < 2u * (query.query_count + 1u) {
        ends[i] = select(offsets[i / 2u].x, offsets[i / 2u].y, i % 2u == 1u);
    }
    if i == 0u {
        describe();
    }
}

fn describe() {
    // A round without pending queries stores zero, so later rounds did nothing.
    let last = query.round_count - 1u;
    header.unfinished = rounds[last].pending;
    header.invalid = rounds[0].invalid;
    header.unused = 0u;
    var count = vec2<u32>(query.query_count * query.most, 0u);
    var capacity = count.x;
    var written = count.x;
    var overflow = 0u;
    if (query.flags & QUERY_LISTS) != 0u {
        count = offsets[query.query_count].xy;
        capacity = window.capacity;
        written = window_length(count, window);
        overflow = select(0u, OVERFLOW_PAIRS, count.y != 0u || count.x != written);
        if rounds[query.round_count + last].pending > 0u {
            written = 0u;
            overflow = OVERFLOW_UNFINISHED;
        }
        arguments = arguments_of(written, query.vertices_per_pair);
    }
    header.count = count.x;
    header.count_high = count.y;
    header.capacity = capacity;
    header.overflow = overflow;
    header.written = written;
}
