// Chooses the level of coarsening at which the entries fit, and adds up the counts before a block of boxes. Its input
// are the counts of bin_count. Every workgroup of bin_scatter, which binds params and block_counts, derives the same
// level. At the last level all boxes are in one cell. There the entries always fit, since the host allocates at least
// one entry per box.
//
// Source: count, scan, then write, Blelloch 1990, Prefix sums and their applications. The choice among eight grids by
// their counts is of this project.

const LANES: u32 = 256u / LEVELS;

fn bin_groups() -> u32 {
    return div_ceil(div_ceil(params.box_count, BIN_BLOCK), BIN_GROUP);
}

// (entries, giants), lane by lane within a level.
var<workgroup> level_sums: array<vec2<u32>, 256>;
var<workgroup> level_totals: array<vec2<u32>, LEVELS>;
var<workgroup> chosen_level: u32;
// Counts of entries, giants and invalid boxes before the block; then the count of all invalid boxes.
var<workgroup> block_sums: array<atomic<u32>, 4>;

// Adds with saturation, so that a total beyond 2^32 still compares as too large.
fn add_saturating(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(a + b, vec2<u32>(0xffffffffu), a + b < a);
}

// Returns the first level whose entries fit and whose cost is at most four times the least cost. Coarser levels have
// fewer entries and giants, but more candidates, whose count is unknown here.
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

// Returns the cost of a level, in tests of one giant against one box. It is an integer, so that every adapter decides
// alike.
fn cost(level: u32) -> vec2<u32> {
    let totals = level_totals[level];
    return add64(mul64(totals.x, TESTS_PER_ENTRY), mul64(totals.y, params.box_count));
}

// Returns (entries, giants) at a level, from counts that begin at this place.
fn level_counts(at: u32, level: u32) -> vec2<u32> {
    return vec2<u32>(block_counts[at + level], block_counts[at + LEVELS + level]);
}

fn invalid_count(at: u32) -> u32 {
    return block_counts[at + 2u * LEVELS];
}

// Adds up the entries and giants of all groups at each level, and chooses a level. Every invocation of the workgroup
// must call it.
fn level_of_grid(local: u32) -> u32 {
    let group_count = bin_groups();
    // LANES invocations per level.
    var sum = vec2<u32>(0u);
    for (var group = local % LANES; group < group_count; group += LANES) {
        sum = add_saturating(sum, level_counts(group * BIN_COUNTS, local / LANES));
    }
    level_sums[local] = sum;
    if local < 4u {
        atomicStore(&block_sums[local], 0u);
    }
    workgroupBarrier();
    if local < LEVELS {
        var total = vec2<u32>(0u);
        for (var lane = 0u; lane < LANES; lane += 1u) {
            total = add_saturating(total, level_sums[local * LANES + lane]);
        }
        level_totals[local] = total;
    }
    workgroupBarrier();
    if local == 0u {
        chosen_level = choose_level();
    }
    workgroupBarrier();
    return chosen_level;
}

// Adds up the counts before a block at a level, into `block_sums`: the counts of earlier groups, and of earlier blocks
// of its own group. A barrier must follow.
fn add_before(local: u32, block: u32, level: u32) {
    let group_count = bin_groups();
    let own = block / BIN_GROUP;
    for (var group = local; group < group_count; group += 256u) {
        let at = group * BIN_COUNTS;
        add_to_block(3u, invalid_count(at));
        if group < own {
            add_three(level_counts(at, level), invalid_count(at));
        }
    }
    for (var before = own * BIN_GROUP + local; before < block; before += 256u) {
        let at = (group_count + before) * BIN_COUNTS;
        add_three(level_counts(at, level), invalid_count(at));
    }
}

fn add_three(sums: vec2<u32>, invalid: u32) {
    add_to_block(0u, sums.x);
    add_to_block(1u, sums.y);
    add_to_block(2u, invalid);
}

fn add_to_block(k: u32, count: u32) {
    if count > 0u {
        atomicAdd(&block_sums[k], count);
    }
}
