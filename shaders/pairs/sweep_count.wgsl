// sweep_count: how long the path of the sweep is, and where on it the stretch of each entry begins.
//
// Reads   counts
// Changes stretches   [entry_count] two at a time: from the quads of the entry to the quads before it within its block
// Writes  path_sums   [sections] quads and candidates of each section of PATH_SECTION entries, each as (low, high)
//         path_bases  [sections + 1 + blocks] behind the first sections + 1, quads before each block of PATH_BLOCK entries
//                     within its section, as (low, high)
// The candidates of an entry are the ranks between its own and its end. A quad is four footprints in a row, of which
// one load brings all; an entry without candidates has one quad nevertheless, which bounds how many entries a piece
// of the path can span.
// An invocation takes ENTRY_RUN entries, a workgroup a section. Sums over several blocks may wrap; differences of them
// that are sums of one block do not, and are added in 64 bits. The entries of an invocation are loaded at once, four
// words a load, and kept: a third of the sectors that they take one after the other. Behind the last entry, where their
// number is odd, a stretch that nobody reads is written as it was.
// Source: work counted before it is divided, as in Baxter, Modern GPU, 2013.

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read_write> stretches: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> path_sums: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> path_bases: array<vec2<u32>>;

const BLOCK_INVOCATIONS: u32 = PATH_BLOCK / ENTRY_RUN;
const BLOCKS: u32 = PATH_SECTION / PATH_BLOCK;
const_assert ENTRY_RUN == 8u;

var<workgroup> block_starts: array<vec2<u32>, BLOCKS + 1u>;

// Returns two stretches from an even rank on, as they lie in memory; as zeros what lies behind the last.
fn two_stretches(rank: u32, n: u32) -> vec4<u32> {
    if rank < n {
        return stretches[rank / 2u];
    }
    return vec4<u32>(0u);
}

// Returns the quads and the candidates of an entry.
fn counts_of(stretch: Stretch, rank: u32, n: u32) -> vec2<u32> {
    return select(vec2<u32>(0u), vec2<u32>(stretch.offset, end_of(stretch) - rank - 1u), rank < n);
}

fn counts_of_two(two: vec4<u32>, rank: u32, n: u32) -> vec2<u32> {
    return counts_of(Stretch(two.x, two.y), rank, n) + counts_of(Stretch(two.z, two.w), rank + 1u, n);
}

// Writes where two stretches begin, the first of them at `before`.
fn place_two(two: vec4<u32>, before: u32, rank: u32, n: u32) {
    if rank < n {
        stretches[rank / 2u] = vec4<u32>(before, two.y, select(two.z, before + two.x, rank + 1u < n), two.w);
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
    let a = two_stretches(first, n);
    let b = two_stretches(first + 2u, n);
    let c = two_stretches(first + 4u, n);
    let d = two_stretches(first + 6u, n);
    let of_a = counts_of_two(a, first, n);
    let of_b = counts_of_two(b, first + 2u, n);
    let of_c = counts_of_two(c, first + 4u, n);
    let of_d = counts_of_two(d, first + 6u, n);
    let scan = scan_workgroup2(local, of_a + of_b + of_c + of_d);
    let block = local / BLOCK_INVOCATIONS;
    if local % BLOCK_INVOCATIONS == 0u {
        block_starts[block] = scan.before;
    }
    if local == 0u {
        block_starts[BLOCKS] = scan.total;
    }
    workgroupBarrier();
    let before = scan.before.x - block_starts[block].x;
    place_two(a, before, first, n);
    place_two(b, before + of_a.x, first + 2u, n);
    place_two(c, before + of_a.x + of_b.x, first + 4u, n);
    place_two(d, before + of_a.x + of_b.x + of_c.x, first + 6u, n);
    write_sums(index, local, n);
}
