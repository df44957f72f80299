// sweep_count: how long the path of the sweep is, and where on it the stretch of each entry begins.
//
// Reads   counts
// Changes stretches   behind the ends of the entries, written: [entry_count] quads before the entry within its block
// Writes  path_sums   [sections] quads and candidates of each section of PATH_SECTION entries, each as (low, high)
//         path_bases  [sections + 1 + blocks] behind the first sections + 1, quads before each block of PATH_BLOCK entries
//                     within its section, as (low, high)
// The candidates of an entry are the ranks between its own and its end. A quad is four footprints in a row, of which
// one load brings all; an entry without candidates has one quad nevertheless, which bounds how many entries a piece
// of the path can span.
// An invocation takes ENTRY_RUN entries, a workgroup a section. Sums over several blocks may wrap; differences of them
// that are sums of one block do not, and are added in 64 bits. The ends of an invocation are loaded at once, four
// words a load, and offsets stored so. Where entries end within four words, the offsets behind them are read by nobody.
// Source: work counted before it is divided, as in Baxter, Modern GPU, 2013.

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read_write> stretches: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> path_sums: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> path_bases: array<vec2<u32>>;

const BLOCK_INVOCATIONS: u32 = PATH_BLOCK / ENTRY_RUN;
const BLOCKS: u32 = PATH_SECTION / PATH_BLOCK;
const_assert ENTRY_RUN == 8u;

var<workgroup> block_starts: array<vec2<u32>, BLOCKS + 1u>;

// Returns the ends of four entries from a multiple of four on; zeros where there are none.
fn four_ends(rank: u32, n: u32) -> vec4<u32> {
    if rank < n {
        return stretches[rank / 4u];
    }
    return vec4<u32>(0u);
}

// Returns the quads and the candidates of an entry.
fn counts_of(word: u32, rank: u32, n: u32) -> vec2<u32> {
    let end = end_of(word);
    return select(vec2<u32>(0u), vec2<u32>(quads_of(rank, end), end - rank - 1u), rank < n);
}

// What four entries contribute to the path.
struct Four {
    starts: vec4<u32>,        // quads before each of them
    all: vec2<u32>,           // quads and candidates of all of them
}

fn count_four(ends: vec4<u32>, rank: u32, n: u32) -> Four {
    let a = counts_of(ends.x, rank, n);
    let b = a + counts_of(ends.y, rank + 1u, n);
    let c = b + counts_of(ends.z, rank + 2u, n);
    return Four(vec4<u32>(0u, a.x, b.x, c.x), c + counts_of(ends.w, rank + 3u, n));
}

// Writes where the stretches of four entries begin, the first of them at `before`.
fn place_four(four: Four, before: u32, rank: u32, n: u32) {
    if rank < n {
        stretches[(first_offset(n) + rank) / 4u] = before + four.starts;
    }
}

// Writes what comes before each block of the section, and what all of them have.
fn write_sums(section: u32, local: u32, n: u32) {
    var quads = vec2<u32>(0u);
    var candidates = vec2<u32>(0u);
    for (var k = 0u; k < select(0u, local, local <= BLOCKS); k += 1u) {
        let own = block_starts[k + 1u] - block_starts[k];
        quads = add64(quads, vec2<u32>(own.x, 0u));
        candidates = add64(candidates, vec2<u32>(own.y, 0u));
    }
    let block = section * BLOCKS + local;
    if local < BLOCKS && block * PATH_BLOCK < n {
        path_bases[div_ceil(n, PATH_SECTION) + 1u + block] = quads;
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
    let first = (index * 256u + local) * ENTRY_RUN;
    let low_ends = four_ends(first, n);
    let high_ends = four_ends(first + 4u, n);
    let low = count_four(low_ends, first, n);
    let high = count_four(high_ends, first + 4u, n);
    let scan = scan_workgroup2(local, low.all + high.all);
    let block = local / BLOCK_INVOCATIONS;
    if local % BLOCK_INVOCATIONS == 0u {
        block_starts[block] = scan.before;
    }
    if local == 0u {
        block_starts[BLOCKS] = scan.total;
    }
    workgroupBarrier();
    let before = scan.before.x - block_starts[block].x;
    place_four(low, before, first, n);
    place_four(high, before + low.all.x, first + 4u, n);
    write_sums(index, local, n);
}
