// sweep_count: how long the path of the sweep is, and where on it the stretch of each entry begins.
//
// Reads   counts
// Changes stretches   [entry_count] from the quads of the entry to the quads before it within its block
// Writes  path_sums   [blocks] (quads, candidates) of each block of PATH_BLOCK entries
// The candidates of an entry are the ranks between its own and its end. A quad is four footprints in a row, of which
// one load brings all; an entry without candidates has one quad nevertheless, which bounds how many entries a piece
// of the path can span.
// An invocation takes ENTRY_RUN entries, a workgroup several blocks. Sums over several blocks may wrap; differences of
// them that are sums of one block do not.
// Source: work counted before it is divided, as in Baxter, Modern GPU, 2013.

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read_write> stretches: array<Stretch>;
@group(0) @binding(2) var<storage, read_write> path_sums: array<vec2<u32>>;

const BLOCK_INVOCATIONS: u32 = PATH_BLOCK / ENTRY_RUN;
const BLOCKS: u32 = 256u / BLOCK_INVOCATIONS;

var<workgroup> block_starts: array<vec2<u32>, BLOCKS + 1u>;

@compute @workgroup_size(256)
fn sweep_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let n = counts.entry_count;
    let index = group_index(group, groups);
    let first = (index * 256u + local) * ENTRY_RUN;
    let end = min(first + ENTRY_RUN, n);
    var sum = vec2<u32>(0u);
    for (var rank = first; rank < end; rank += 1u) {
        let stretch = stretches[rank];
        sum += vec2<u32>(stretch.offset, end_of(stretch) - rank - 1u);
    }
    let scan = scan_workgroup2(local, sum);
    let block = local / BLOCK_INVOCATIONS;
    if local % BLOCK_INVOCATIONS == 0u {
        block_starts[block] = scan.before;
    }
    if local == 0u {
        block_starts[BLOCKS] = scan.total;
    }
    workgroupBarrier();
    var running = scan.before.x - block_starts[block].x;
    for (var rank = first; rank < end; rank += 1u) {
        let quads = stretches[rank].offset;
        stretches[rank].offset = running;
        running += quads;
    }
    if local < BLOCKS && (index * BLOCKS + local) * PATH_BLOCK < n {
        path_sums[index * BLOCKS + local] = block_starts[local + 1u] - block_starts[local];
    }
}
