// bin_scan: how far to coarsen the grid so that the entries fit, and where each block's entries go.
//
// Reads   frame          one Frame
//         block_counts   [blocks * BIN_COUNTS], of bin_count
//         sort_pass      a SortPass of the sort that comes next, for the size of its digits
// Writes  bin_offsets  [blocks] entries, giants and invalid boxes before the block
//         counts         level, entry_count, giant_count, invalid_count, key_bits
//         dispatches     of bin_scatter, and those over all entries, for whoever reads the grid
// One workgroup. The last level puts every box in one cell, so the entries always fit: they are never more
// than the boxes there, and the host makes room for at least that many.
// Source: count, scan, then write, Blelloch 1990, Prefix sums and their applications. That the counts of eight grids
// choose one of them is of this project.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> frame: Frame;
@group(0) @binding(2) var<storage, read> block_counts: array<u32>;
@group(0) @binding(3) var<storage, read_write> bin_offsets: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> counts: Counts;
@group(0) @binding(5) var<storage, read_write> dispatches: Dispatches;
@group(0) @binding(6) var<uniform> sort_pass: SortPass;

const LANES: u32 = 256u / LEVELS;

// (entries, giants), lane by lane within a level.
var<workgroup> level_sums: array<vec2<u32>, 256>;
var<workgroup> level_totals: array<vec2<u32>, LEVELS>;

// Adds with saturation, so that a total past 2^32 still compares as too many.
fn add_saturating(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(a + b, vec2<u32>(0xffffffffu), a + b < a);
}

// Returns the first level whose entries fit and whose cost is not much above the least. Coarser levels have fewer
// entries and giants, but more candidates, which are not known yet.
fn choose_level() -> u32 {
    var least = vec2<u32>(0xffffffffu);
    for (var level = 0u; level < LEVELS; level += 1u) {
        let own = cost(level);
        if level_totals[level].x <= params.entry_capacity && less64(own, least) {
            least = own;
        }
    }
    let most = vec2<u32>(least.x << 2u, (least.y << 2u) | (least.x >> 30u));
    for (var level = 0u; level < LEVELS - 1u; level += 1u) {
        if level_totals[level].x <= params.entry_capacity && !less64(most, cost(level)) {
            return level;
        }
    }
    return LEVELS - 1u;
}

// Returns the cost of a level in tests of a giant: an integer, so that every adapter decides alike.
fn cost(level: u32) -> vec2<u32> {
    let totals = level_totals[level];
    return add64(mul64(totals.x, TESTS_PER_ENTRY), mul64(totals.y, params.box_count));
}

// Returns (entries, giants) of a block at a level; none behind the last block.
fn level_counts(block: u32, level: u32, block_count: u32) -> vec2<u32> {
    if block < block_count {
        let at = block * BIN_COUNTS + level;
        return vec2<u32>(block_counts[at], block_counts[at + LEVELS]);
    }
    return vec2<u32>(0u);
}

// Adds up the entries and giants of all blocks at each level. Every invocation of the workgroup has to call.
fn add_levels(local: u32, block_count: u32) {
    // LANES invocations to a level, each with four blocks at once.
    let level = local / LANES;
    var sum = vec2<u32>(0u);
    for (var block = local % LANES; block < block_count; block += 4u * LANES) {
        let a = level_counts(block, level, block_count);
        let b = level_counts(block + LANES, level, block_count);
        let c = level_counts(block + 2u * LANES, level, block_count);
        let d = level_counts(block + 3u * LANES, level, block_count);
        sum = add_saturating(add_saturating(sum, add_saturating(a, b)), add_saturating(c, d));
    }
    level_sums[local] = sum;
    workgroupBarrier();
    if local < LEVELS {
        var total = vec2<u32>(0u);
        for (var lane = 0u; lane < LANES; lane += 1u) {
            total = add_saturating(total, level_sums[local * LANES + lane]);
        }
        level_totals[local] = total;
    }
    workgroupBarrier();
}

// Returns (entries, giants, invalid boxes) of a block at a level; none from `end` on.
fn counts_of(block: u32, level: u32, end: u32) -> vec4<u32> {
    if block < end {
        let base = block * BIN_COUNTS;
        return vec4<u32>(block_counts[base + level], block_counts[base + LEVELS + level], block_counts[base + 2u * LEVELS], 0u);
    }
    return vec4<u32>(0u);
}

// Writes what comes before a block, and returns what comes before the next.
fn place_block(block: u32, end: u32, before: vec4<u32>, own: vec4<u32>) -> vec4<u32> {
    if block < end {
        bin_offsets[block] = before;
    }
    return before + own;
}

// Sets how often bin_scatter and rank_ends are dispatched.
fn write_dispatches(block_count: u32, entry_count: u32, steps: u32) {
    let blocks = dispatch_size(block_count);
    for (var k = 0u; k < 3u; k += 1u) {
        // Entries are written to where the sort has to start for its result always to lie in the same buffer.
        for (var i = 0u; i < 2u; i += 1u) {
            dispatches.bin_scatter[i][k] = select(0u, blocks[k], i == steps % 2u);
        }
    }
    dispatches.entries = dispatch_size(div_ceil(entry_count, 256u));
}

@compute @workgroup_size(256)
fn bin_scan(@builtin(local_invocation_index) local: u32) {
    let block_count = div_ceil(params.box_count, BIN_BLOCK);
    add_levels(local, block_count);
    let level = choose_level();

    // Each invocation takes a run of blocks, four at once.
    let run = div_ceil(block_count, 256u);
    let first = local * run;
    let end = min(first + run, block_count);
    var mine = vec4<u32>(0u);
    for (var block = first; block < end; block += 4u) {
        let a = counts_of(block, level, end);
        let b = counts_of(block + 1u, level, end);
        let c = counts_of(block + 2u, level, end);
        let d = counts_of(block + 3u, level, end);
        mine += a + b + c + d;
    }
    let scan = scan_workgroup2(local, mine.xy);
    let invalid = scan_workgroup(local, mine.z);
    var running = vec4<u32>(scan.before, invalid.before, 0u);
    for (var block = first; block < end; block += 4u) {
        let a = counts_of(block, level, end);
        let b = counts_of(block + 1u, level, end);
        let c = counts_of(block + 2u, level, end);
        let d = counts_of(block + 3u, level, end);
        running = place_block(block, end, running, a);
        running = place_block(block + 1u, end, running, b);
        running = place_block(block + 2u, end, running, c);
        running = place_block(block + 3u, end, running, d);
    }

    if local == 0u {
        counts.level = level;
        counts.entry_count = scan.total.x;
        counts.giant_count = scan.total.y;
        counts.invalid_count = invalid.total;
        let step_bits = max(sort_pass.digit_bits, STEP_BITS);
        let steps = div_ceil(frame.key_bits, step_bits);
        counts.key_bits = steps * step_bits;
        write_dispatches(block_count, scan.total.x, steps);
    }
}
