// sweep_count: how long the path of the sweep is, and where on it the entries stand.
//
// Reads   counts
//         stretches   [entry_count] where the candidates of each entry end
// Writes  path_sums   [sections] quads and candidates of each section of PATH_SECTION entries, each as (low, high)
//         path_bases  [sections + 1 + ceil(entry_count / ENTRY_STRIDE)] behind the first sections + 1, quads before every
//                     ENTRY_STRIDE-th entry within its section, as (low, high)
// The candidates of an entry are the ranks between its own and its end. A quad is four footprints in a row, of which
// one load brings all; an entry without candidates has one quad nevertheless, which bounds how many entries a piece
// of the path can span.
// An invocation takes ENTRY_STRIDE entries, whose words are loaded at once, a workgroup a section; there may be more
// workgroups. Sums over several blocks of PATH_BLOCK entries may wrap; differences of them that are sums of one block do not,
// and are added in 64 bits. Entries between two bases have none: who looks for one counts its way from the ends, which it needs
// too.
// Source: work counted before it is divided, as in Baxter, Modern GPU, 2013.

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read> stretches: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> path_sums: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> path_bases: array<vec2<u32>>;

const BLOCK_INVOCATIONS: u32 = PATH_BLOCK / ENTRY_STRIDE;
const BLOCKS: u32 = PATH_SECTION / PATH_BLOCK;
const_assert ENTRY_STRIDE == 8u;

// Quads and candidates before each block, modulo 2^32, and of all; then quads before each.
var<workgroup> block_starts: array<vec2<u32>, BLOCKS + 1u>;
var<workgroup> block_bases: array<vec2<u32>, BLOCKS>;

// Returns the words of four entries from a multiple of four on; zeros where there are none.
fn four_words(rank: u32, n: u32) -> vec4<u32> {
    if rank < n {
        return stretches[rank / 4u];
    }
    return vec4<u32>(0u);
}

// Returns the quads and the candidates of those of four entries that there are.
fn count_four(words: vec4<u32>, rank: u32, n: u32) -> vec2<u32> {
    let ranks = rank + vec4<u32>(0u, 1u, 2u, 3u);
    let are_there = ranks < vec4<u32>(n);
    let ends = four_ends(words);
    let quads = select(vec4<u32>(0u), quads_of(rank, ends), are_there);
    let candidates = select(vec4<u32>(0u), ends - ranks - 1u, are_there);
    return vec2<u32>(
        quads.x + quads.y + quads.z + quads.w,
        candidates.x + candidates.y + candidates.z + candidates.w,
    );
}

// Adds up what comes before each block of the section, and writes what all of them have.
fn add_blocks(section: u32, local: u32, n: u32) {
    var quads = vec2<u32>(0u);
    var candidates = vec2<u32>(0u);
    for (var k = 0u; k < select(0u, local, local <= BLOCKS); k += 1u) {
        let own = block_starts[k + 1u] - block_starts[k];
        quads = add64(quads, vec2<u32>(own.x, 0u));
        candidates = add64(candidates, vec2<u32>(own.y, 0u));
    }
    if local < BLOCKS {
        block_bases[local] = quads;
    }
    if local == BLOCKS && section * PATH_SECTION < n {
        path_sums[section] = vec4<u32>(quads, candidates);
    }
}

@compute @workgroup_size(256)
fn sweep_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let n = counts.entry_count;
    let index = group_index(group, groups);
    if index * PATH_SECTION >= n {
        return;
    }
    let first = (index * 256u + local) * ENTRY_STRIDE;
    let low = four_words(first, n);
    let high = four_words(first + 4u, n);
    let scan = scan_workgroup2(local, count_four(low, first, n) + count_four(high, first + 4u, n));
    let block = local / BLOCK_INVOCATIONS;
    if local % BLOCK_INVOCATIONS == 0u {
        block_starts[block] = scan.before;
    }
    if local == 0u {
        block_starts[BLOCKS] = scan.total;
    }
    workgroupBarrier();
    add_blocks(index, local, n);
    workgroupBarrier();
    if first < n {
        let within = scan.before.x - block_starts[block].x;
        path_bases[div_ceil(n, PATH_SECTION) + 1u + first / ENTRY_STRIDE] = add64(block_bases[block], vec2<u32>(within, 0u));
    }
}
