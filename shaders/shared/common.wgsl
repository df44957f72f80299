// Shared by every kernel: the structures that pass between stages, the exact overlap test, 64-bit counts, and the
// projection of a box. This file is appended to each kernel's own file, so that line numbers of the own file are right.
// Constants in CAPITALS come from src/base/constants/.

// ---- structures, each the twin of one in src/base/layout.rs ----

// The parameters of one call.
struct Params {
    box_count: u32,
    entry_capacity: u32,      // capacity for entries, at least box_count
    axis: u32,                // AXIS_*
    cell_mode: u32,           // CELL_*
    cell_size: f32,           // for CELL_FIXED, in input units
    candidate_limit_low: u32,
    candidate_limit_high: u32,
    vertices_per_pair: u32,
    tile_capacity: u32,       // tiles of the sweep whose runs are retained; emit computes later tiles again
    world_count: u32,         // worlds of boxes, without the global world
    include_count: u32,       // pairs that are always reported
    is_beyond: u32,           // 0; or BEYOND_* if a number in a buffer exceeds the capacity
    key_bits: u32,            // KEY_BITS or LONG_KEY_BITS
}

// The range of pairs that emit writes: pairs [first, first + capacity) of the whole list.
struct Window {
    first_low: u32,
    first_high: u32,
    capacity: u32,
    unused: u32,
}

// One radix pass.
struct SortPass {
    shift: u32,               // the digit's lowest bit
    of_pairs: u32,            // 0: an element for each entry; 1: for each written pair
    digit_bits: u32,
    unused: u32,
}

// Rows of pairs.
struct OrderParams {
    row_count: u32,
    column_count: u32,        // more than any box in a row
    ways: u32,                // 1: a pair is in the row of its first box; 2: in the rows of both
    unused: u32,
}

// Bounds of the boxes that enter the statistics.
struct Bounds {
    min: vec3<f32>,
    count: u32,
    max: vec3<f32>,
    unused: u32,
}

// The bounds of a workgroup: of boxes of ordinary magnitude, and of all finite boxes.
struct BoundsPartial {
    ordinary: Bounds,
    finite: Bounds,
}

// The axes and the grid. Lengths are in scaled units: input times `scale`, a power of two.
struct Frame {
    sweep: vec3<f32>,
    scale: f32,
    plane_u: vec3<f32>,
    limit: f32,               // in input units; a box with a coordinate beyond it counts as unbounded
    plane_v: vec3<f32>,
    inverse_cell: f32,
    origin: vec2<f32>,        // of the grid, along u and v
    plane_slop: f32,          // in cells, widens a box's range of cells
    sweep_slop: f32,          // in length, widens a box's interval
    cell_min: vec2<i32>,      // cells outside are merged into the outermost ones
    cell_max: vec2<i32>,
    cell_bits: vec2<u32>,     // of the key, for u and v: cell ids of a world repeat every 2^cell_bits cells
    max_span: vec2<u32>,      // a box over more cells along u or v is a giant
    position_bits: u32,       // of the key, lowest
    key_bits: u32,
    giant_cells: u32,         // a box in more cells is a giant
    axis: u32,                // AXIS_*, never AXIS_AUTO
    cell_size: f32,           // edge of a cell; the host reports it in input units
    outside_count: u32,       // boxes without a place in the grid: unbounded, beyond limit, invalid
    tile_bits: vec2<u32>,     // low bits of cell_bits: differ among cells of one world; the others distinguish worlds
    // Knots of the position scale, two per vector: the start of a segment, and its quanta per unit length.
    knots: array<vec4<f32>, KNOT_COUNT / 2u>,
}

// The counts of all stages. The host reads them once, after the last stage.
struct Counts {
    level: u32,               // index into the ladder of coarsenings
    entry_count: u32,
    giant_count: u32,
    invalid_count: u32,
    // The index is in x: array elements of a uniform have 16 bytes, and two invocations must not write components of
    // the same vector.
    first_invalid: array<vec4<u32>, INVALID_LISTED>,
    candidate_low: u32,
    candidate_high: u32,
    refused: u32,             // 1 if there are more candidates than the limit
    path_low: u32,            // quads of the path
    path_high: u32,
    sweep_tiles: u32,
    sweep_tiles_per_block: u32,
    sweep_blocks: u32,
    giant_tiles: u32,
    giant_tiles_per_block: u32,
    giant_blocks: u32,
    pair_low: u32,
    pair_high: u32,
    written: u32,             // pairs in the window
    first_block: u32,         // the first block of the dispatches of emit_sweep and emit_again
    unused: u32,
}

// Indirect dispatch sizes.
struct Dispatches {
    sweep_test: array<u32, 3>,
    emit_sweep: array<u32, 3>,
    emit_again: array<u32, 3>,
}

// The header of a list of pairs that stays on the GPU.
struct PairHeader {
    count: u32,               // all pairs, low and high half, including pairs that do not fit
    count_high: u32,
    capacity: u32,
    overflow: u32,            // 0, or one of OVERFLOW_*
    written: u32,             // pairs in the list
    unused: array<u32, 3>,
}

// Arguments of indirect calls for a list of pairs.
struct PairArguments {
    dispatch: array<u32, 3>,  // workgroups of 256 that cover the list
    unused: u32,
    draw: array<u32, 4>,      // vertices_per_pair, an instance for each pair, 0, 0
    draw_list: array<u32, 4>, // vertices of all pairs, one instance, 0, 0
}

// The parameters of a step.
struct StepParams {
    capacity: u32,            // pairs that each list of events holds
    naming: u32,              // NAMING_*: the meaning of `names`
    vertices_per_pair: u32,
    is_join: u32,             // 1 if the second box of a pair is of a set that does not change
}

// The places of the nodes of a tree (tree.wgsl).
struct TreeShape {
    box_count: u32,
    level_count: u32,
    world_count: u32,
    first_id: u32,            // in vec4
    first_box: u32,           // after the nodes, in vec4; ids are after the boxes
    unused_a: u32,
    unused_b: u32,
    unused_c: u32,
    first_nodes: array<vec4<u32>, 3>,
}

// The parameters of one dispatch of a kernel that prepares filters or points.
struct FilterChange {
    place: u32,               // the begin of the list
    first: u32,               // the first changed box or half-space
    count: u32,               // the count of changed boxes or half-spaces
    world_count: u32,         // worlds that have numbers
    format: u32,              // FORMAT_*: the format of a value
    radius: u32,              // bits of the radius of all points; a NaN if each has its own
}

// The layout and the capacity for pairs to exclude from a buffer.
struct ExcludeChange {
    rows: u32,                // the begin of the rows of the lists
    others: u32,              // the begin of the larger indices of the pairs
    box_count: u32,
    at_most: u32,             // pairs to exclude
    include_count: u32,       // included pairs
    is_stored: u32,           // 1: the count of pairs to exclude is in a buffer
}

// The cube that the curve fills (curve.wgsl).
struct Cube {
    low: vec3<f32>,
    scale: f32,
}

// The summary of a tree for the host.
struct TreeSummary {
    invalid_count: u32,
    surface: f32,
    vast_count: u32,
    unused: u32,
    first_invalid: array<vec4<u32>, INVALID_LISTED>,   // in x
}

// The parameters of a batch of queries.
struct QueryParams {
    query_count: u32,
    u32_count: u32,           // of a query
    most: u32,                // requested answers per query
    parts: u32,               // the begin of the half-spaces after all queries, in words
    budget: u32,              // the most turns of loops of a query in one dispatch
    flags: u32,               // QUERY_*
    rule: u32,                // RULE_*: the rule of groups and masks
    round: u32,               // the index of this dispatch among the recorded rounds
    round_count: u32,         // the count of rounds; lists have this count of counting rounds and of writing rounds
    part_count: u32,          // half-spaces
    retained_count: u32,      // answers retained per list during the count: RETAINED_ANSWERS or 0
    vertices_per_pair: u32,   // of the draw arguments of lists
    spheres: u32,             // the begin of the queries' spheres after their filters, in words; 0 without spheres
}

// The state that a dispatch passes to the next.
struct Round {
    size: vec3<u32>,          // of the dispatch that resumes queries
    pending: u32,             // pending queries
    invalid: u32,             // invalid queries
    unused_a: u32,
    unused_b: u32,
    unused_c: u32,
}

// The header of answers that stay on the device.
struct QueryHeader {
    count: u32,               // answers, low
    count_high: u32,
    capacity: u32,            // the capacity for answers
    overflow: u32,            // 0 or OVERFLOW_*
    written: u32,             // answers in the list
    unfinished: u32,          // unfinished queries, which have no answers
    invalid: u32,             // invalid queries
    unused: u32,
}

// The list `stretches` has a word per entry: the end of the entry's candidates (see sweep_walk.wgsl). The low END_BITS
// are the rank of the first entry that starts after this entry ends. The bits above are the count of unproven
// candidates before this rank, which may also start after the entry ends. ALL_UNPROVEN means all candidates.

// Returns the end rank of an entry's candidates from its word of `stretches`.
fn end_of(word: u32) -> u32 {
    return word & ((1u << END_BITS) - 1u);
}

// Returns the end ranks of four entries.
fn four_ends(words: vec4<u32>) -> vec4<u32> {
    return words & vec4<u32>((1u << END_BITS) - 1u);
}

// The results of one invocation in RUN_QUADS quads of the path.
struct Run {
    hits: u32,                // bit 4k + j: candidate j of quad k
    first_rank: u32,          // the entry of the first quad
    first_quad: u32,
    turns: u32,               // bit k: quad k is the first quad of the next entry
}

// The list `runs` has RUN_U32_COUNT times 256 words per tile: the hits of all runs, then the first quads of all runs,
// then the first ranks, with the turns in the bits above. So adjacent invocations access adjacent words, and a count of
// hits loads only the hits.

// Packs first rank and turns into a word. Bit 0 of the turns is never set, so it is not stored.
fn rank_and_turns(run: Run) -> u32 {
    return run.first_rank | (run.turns << (RANK_BITS - 1u));
}

// Unpacks a run from its three words.
fn run_from(hits: u32, first_quad: u32, both: u32) -> Run {
    return Run(hits, both & ((1u << RANK_BITS) - 1u), first_quad, (both >> RANK_BITS) << 1u);
}

// Returns the ranks of the two entries of the hit at bit `bit`.
fn ranks_of(run: Run, bit: u32) -> vec2<u32> {
    let k = bit / 4u;
    let turns = run.turns & ((2u << k) - 1u);
    let rank = run.first_rank + countOneBits(turns);
    var quad = run.first_quad + k;
    if turns != 0u {
        quad = (rank + 1u) / 4u + k - firstLeadingBit(turns);
    }
    return vec2<u32>(rank, quad * 4u + bit % 4u);
}

// Returns the quad counts of four consecutive entries with these ends: the quads that hold candidates, at least one per
// entry.
fn quads_of(first_rank: u32, ends: vec4<u32>) -> vec4<u32> {
    let first_quads = (first_rank + vec4<u32>(1u, 2u, 3u, 4u)) / 4u;
    return max((ends - 1u) / 4u, first_quads) - first_quads + 1u;
}

// The sign of an f32 in its bits, and the bits of infinity.
const SIGN: u32 = 0x80000000u;
const INFINITY: u32 = 0x7f800000u;

// ---- sizes of dispatches ----

// Returns the index of this workgroup in a dispatch that `dispatch_size` laid out.
fn group_index(id: vec3<u32>, groups: vec3<u32>) -> u32 {
    return id.x + id.y * groups.x;
}

// Returns a two-dimensional dispatch size for `groups` workgroups. The dispatch may have more workgroups.
fn dispatch_size(groups: u32) -> array<u32, 3> {
    let x = min(groups, MAX_GROUPS_X);
    var y = 1u;
    if x > 0u {
        y = (groups - 1u) / x + 1u;
    }
    return array<u32, 3>(x, y, 1u);
}

// Returns the arguments for a list of `written` pairs. The vertex count saturates at 32 bits.
fn arguments_of(written: u32, vertices_per_pair: u32) -> PairArguments {
    let dispatch = dispatch_size(div_ceil(written, 256u));
    let vertices = min(written, 0xffffffffu / max(vertices_per_pair, 1u)) * vertices_per_pair;
    let draw = array<u32, 4>(vertices_per_pair, written, 0u, 0u);
    return PairArguments(dispatch, 0u, draw, array<u32, 4>(vertices, 1u, 0u, 0u));
}

fn div_ceil(a: u32, b: u32) -> u32 {
    return a / b + select(0u, 1u, a % b != 0u);
}

// Returns the count of rows against which giants are tested: rows of GIANT_ROW entries, then rows of GIANT_ROW giants.
fn rows_of(entry_count: u32, giant_count: u32) -> u32 {
    return div_ceil(entry_count, GIANT_ROW) + div_ceil(giant_count, GIANT_ROW);
}

// Returns the count of workgroups of pca_bounds, which is the count of partial results.
fn pca_groups(box_count: u32) -> u32 {
    return clamp(div_ceil(box_count, PCA_BLOCK), 1u, PCA_GROUPS);
}

// ---- 64-bit counts as (low, high) ----

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn sub64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// Returns the count of pairs in a window, from the count of all pairs.
fn window_length(count: vec2<u32>, window: Window) -> u32 {
    let first = vec2<u32>(window.first_low, window.first_high);
    let rest = sub64(count, first);
    let length = select(min(rest.x, window.capacity), window.capacity, rest.y != 0u);
    return select(length, 0u, less64(count, first));
}

fn less64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
}

fn mul64(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle_a = (a >> 16u) * (b & 0xffffu);
    let middle_b = (a & 0xffffu) * (b >> 16u);
    let high = (a >> 16u) * (b >> 16u);
    var result = add64(vec2<u32>(low, high), vec2<u32>(middle_a << 16u, middle_a >> 16u));
    result = add64(result, vec2<u32>(middle_b << 16u, middle_b >> 16u));
    return result;
}

// Returns a >> bits, for 0 < bits < 32.
fn shift_right64(a: vec2<u32>, bits: u32) -> vec2<u32> {
    return vec2<u32>((a.x >> bits) | (a.y << (32u - bits)), a.y >> bits);
}

// ---- boxes as order-preserving integers ----

// The six bounds of a box as integers in the order of the numbers, with -0 equal to 0. The exact test does not use
// floating point, since WGSL allows drivers to flush denormals, ignore the sign of zero and assume no NaN.
struct OrderedBox {
    min: vec3<i32>,
    max: vec3<i32>,
}

// Maps floats to integers in the same order. The bits of positive floats ascend with the number. The bits of negative
// floats, as signed integers, ascend with the magnitude, from -2^31 for -0.
fn ordered(bits: vec3<u32>) -> vec3<i32> {
    let signed = bitcast<vec3<i32>>(bits);
    return select(signed, bitcast<vec3<i32>>(vec3<u32>(0x80000000u) - bits), signed < vec3<i32>(0));
}

fn overlap(a: OrderedBox, b: OrderedBox) -> bool {
    return all(a.min <= b.max) && all(b.min <= a.max);
}

const KIND_FINITE: u32 = 0u;
const KIND_UNBOUNDED: u32 = 1u;
const KIND_INVALID: u32 = 2u;

// Returns the bits of the coordinate of a box with the largest magnitude, without sign. As integers, such bits ascend
// with the magnitude; infinity and then NaN are larger.
fn reach_of(min_bits: vec3<u32>, max_bits: vec3<u32>) -> u32 {
    let reach = max(min_bits & vec3<u32>(0x7fffffffu), max_bits & vec3<u32>(0x7fffffffu));
    return max(reach.x, max(reach.y, reach.z));
}

fn kind_of(min_bits: vec3<u32>, max_bits: vec3<u32>) -> u32 {
    let infinity = 0x7f800000u;
    let reach = reach_of(min_bits, max_bits);
    if reach > infinity || any(ordered(min_bits) > ordered(max_bits)) {
        return KIND_INVALID;
    }
    return select(KIND_FINITE, KIND_UNBOUNDED, reach == infinity);
}

// ---- projection ----

// Returns whether a finite box enters the statistics and the grid: no coordinate is beyond `limit`.
fn is_within(min_bits: vec3<u32>, max_bits: vec3<u32>, limit: f32) -> bool {
    return reach_of(min_bits, max_bits) <= bitcast<u32>(limit);
}

// Returns the interval of a box on a direction. The dot product of a corner is monotone in the bounds, even with
// rounding; centre plus radius would not be. Along a coordinate axis, the result is exact.
fn project(direction: vec3<f32>, low: vec3<f32>, high: vec3<f32>) -> vec2<f32> {
    let positive = direction > vec3<f32>(0.0);
    let lower = select(high, low, positive) * direction;
    let upper = select(low, high, positive) * direction;
    return vec2<f32>(lower.x + lower.y + lower.z, upper.x + upper.y + upper.z);
}

// ---- cells of a box: (first u, first v, last u, last v); first u > last u if there are no cells ----

const CELLS_OF_INVALID: vec4<i32> = vec4<i32>(1, 0, 0, 0);
const CELLS_OF_UNBOUNDED: vec4<i32> = vec4<i32>(1, 1, 0, 0);

// In the list `cells`, a box has four words: three words with its cells, 24 bits per cell, and the start of its
// interval.

// Returns the words of a box in `cells`. Cell `last v` is in the low bytes of three words; the other cells are in the
// bits above.
fn packed_cells(cells: vec4<i32>, start: u32) -> vec4<u32> {
    let last_v = vec3<u32>(u32(cells.w)) >> vec3<u32>(0u, 8u, 16u);
    return vec4<u32>((vec3<u32>(cells.xyz) << vec3<u32>(8u)) | (last_v & vec3<u32>(0xffu)), start);
}

fn cells_from(words: vec4<u32>) -> vec4<i32> {
    let last_v = (words.xyz & vec3<u32>(0xffu)) << vec3<u32>(8u, 16u, 24u);
    return vec4<i32>(vec4<u32>(words.xyz, last_v.x | last_v.y | last_v.z)) >> vec4<u32>(8u);
}

// Returns the cells after merging 2^shift by 2^shift cells. With a shift of 32, all cells become one.
fn coarse(cells: vec4<i32>, level: u32) -> vec4<i32> {
    let shift = LEVEL_SHIFTS[level];
    return select(cells >> vec4<u32>(min(shift, 31u)), vec4<i32>(0), shift >= 32u);
}

// Packs fractions (first u, first v, last u, last v) into the bytes (first u, last u, first v, last v) of a footprint.
fn footprint_of(fractions: vec4<u32>) -> u32 {
    return fractions.x | (fractions.z << 8u) | (fractions.y << 16u) | (fractions.w << 24u);
}

fn is_binned(cells: vec4<i32>) -> bool {
    return cells.x <= cells.z;
}

// Returns the cell counts of a binned box at four levels of coarsening, with shifts below 32; 0 for a giant.
fn cell_counts(cells: vec4<i32>, shifts: vec4<u32>, max_span: vec2<u32>, giant_cells: u32) -> vec4<u32> {
    let spans_u = vec4<u32>((vec4<i32>(cells.z) >> shifts) - (vec4<i32>(cells.x) >> shifts)) + 1u;
    let spans_v = vec4<u32>((vec4<i32>(cells.w) >> shifts) - (vec4<i32>(cells.y) >> shifts)) + 1u;
    let most_u = vec4<u32>(max_span.x);
    let most_v = vec4<u32>(max_span.y);
    let counts = min(spans_u, most_u) * min(spans_v, most_v);
    let is_giant = (spans_u > most_u) | (spans_v > most_v) | (counts > vec4<u32>(giant_cells));
    return select(counts, vec4<u32>(0u), is_giant);
}

// Returns the cell count of a binned box; 0 for a giant.
fn cell_count(cells: vec4<i32>, level: u32, max_span: vec2<u32>, giant_cells: u32) -> u32 {
    let c = coarse(cells, level);
    let spans = vec2<u32>(c.zw - c.xy) + 1u;
    let clamped = min(spans, max_span);
    let count = clamped.x * clamped.y;
    return select(count, 0u, any(spans > max_span) || count > giant_cells);
}

fn is_giant(cells: vec4<i32>, level: u32, max_span: vec2<u32>, giant_cells: u32) -> bool {
    if !is_binned(cells) {
        return cells.y == CELLS_OF_UNBOUNDED.y;
    }
    return cell_count(cells, level, max_span, giant_cells) == 0u;
}
