// query_scan: where the lists of each block of queries begin, how long all are together, and how many answers the window
// takes.
//
// Reads   query, window
// Changes blocks       [query_count / 256, rounded up] (low, high) from answers of each block, with LONG_LIST for each long list, to
//                      the answers before
// Writes  offsets      [query_count] behind the others: all answers
//         answer_counts  written, of those to be put in order: none where all lists were kept, and come in order
// One workgroup.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read_write> blocks: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> offsets: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> answer_counts: Counts;

@compute @workgroup_size(256)
fn query_scan(@builtin(local_invocation_index) local: u32) {
    let block_count = div_ceil(query.query_count, 256u);
    var running = vec2<u32>(0u);
    var has_long = false;
    for (var first = 0u; first < block_count; first += 256u) {
        let block = first + local;
        var own = vec2<u32>(0u);
        if block < block_count {
            // Of 256 blocks there are fewer than 2^48 answers.
            let of_block = blocks[block];
            own = vec2<u32>(of_block.x, of_block.y % LONG_LIST + select(0u, LONG_LIST, of_block.y >= LONG_LIST));
        }
        let scan = scan_workgroup64(local, own);
        if block < block_count {
            blocks[block] = add64(running, vec2<u32>(scan.before.x, scan.before.y % LONG_LIST));
        }
        running = add64(running, vec2<u32>(scan.total.x, scan.total.y % LONG_LIST));
        has_long |= scan.total.y >= LONG_LIST;
    }
    if local == 0u {
        offsets[query.query_count] = vec4<u32>(running, 0u, 0u);
        answer_counts.written = select(0u, window_length(running, window), has_long);
    }
}
