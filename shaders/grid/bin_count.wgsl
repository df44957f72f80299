// bin_count: computes the cells and the quantised interval of each box, and counts the entries of each block of boxes.
//
// Reads   boxes         [box_count * 3] bits of f32, two at a time; and the same four at a time as box_quads
//         frame         one Frame
//         filter_layout, filters: worlds and sets (filters.wgsl)
//         world_cells   [world_count] of bin_worlds
// Writes  cells         [box_count] first and last cell, before any coarsening, and the start on the sweep axis
//                       (packed_cells), for bin_scatter. Above the start, where a key has the cell, are the bits
//                       that distinguish the world of the box
//         box_ends      [box_count] for rank_ends: the end on the sweep axis, and where in its first and last cells the
//                       box begins and ends, as a footprint: bytes (first u, last u, first v, last v)
//         block_counts  [ceil(box_count / BIN_BLOCK) * BIN_COUNTS] per block: entries at each level of
//                       coarsening, giants at each level, invalid boxes
// Changes block_counts  before those, [groups * BIN_COUNTS] the same of each BIN_GROUP blocks, added to zeros
//
// Cells and positions are computed here once, and stored as integers. Later kernels compare only these integers, so
// their rounding cannot differ. Every interval is widened by more than the largest rounding error. So boxes that share
// a point share a cell, and neither starts after the other ends.
//
// Two measures save operations. Knots are searched in workgroup memory. Most boxes are in one or two cells along u and
// v; their entries are counted at all levels at once.
//
// Source: a uniform grid with sweep and prune inside each cell, Li, Lu, He 2003 (USSCD); cells are columns here.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> frame: Frame;
@group(0) @binding(3) var<storage, read_write> cells: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> box_ends: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> block_counts: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read> world_cells: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> box_quads: array<vec4<u32>>;

const LOW_SHIFTS: vec4<u32> = vec4<u32>(LEVEL_SHIFTS[0], LEVEL_SHIFTS[1], LEVEL_SHIFTS[2], LEVEL_SHIFTS[3]);
// The last level has one cell for all boxes. It needs no shift; 31 is a placeholder.
const HIGH_SHIFTS: vec4<u32> = vec4<u32>(LEVEL_SHIFTS[4], LEVEL_SHIFTS[5], LEVEL_SHIFTS[6], 31u);

// The starts of the segments of the position scale, and their quanta per unit length.
var<workgroup> knot_starts: array<f32, KNOT_COUNT>;
var<workgroup> knot_quanta: array<f32, KNOT_COUNT>;
// Entry counts at the levels: first per invocation, then per sum of sixteen invocations.
var<workgroup> low_sums: array<vec4<u32>, 256>;
var<workgroup> high_sums: array<vec4<u32>, 256>;
var<workgroup> giants: array<atomic<u32>, LEVELS>;
var<workgroup> invalid: atomic<u32>;

// Returns `segment + step` if that segment starts at or before x, and otherwise `segment`.
fn go_on(segment: u32, step: u32, x: f32) -> u32 {
    let next = segment + step;
    return select(segment, next, knot_starts[next] <= x);
}

// A segment of the position scale: its index, its start, and its quanta per unit length.
struct Segment {
    number: u32,
    start: f32,
    quanta: f32,
}

// Returns the last segment that starts at or before x, or the first.
fn segment_of(x: f32) -> Segment {
    let half = go_on(0u, 16u, x);
    let eighth = go_on(go_on(half, 8u, x), 4u, x);
    let number = go_on(go_on(eighth, 2u, x), 1u, x);
    return Segment(number, knot_starts[number], knot_quanta[number]);
}

// Quantises x on the sweep axis. The result is monotone in x: comparisons choose the segment, and a product, clamped to
// the segment, gives the quantum.
fn position(x: f32) -> u32 {
    let segment = segment_of(x);
    let segment_bits = frame.position_bits - KNOT_BITS;
    let last = (1u << segment_bits) - 1u;
    // With more than 24 bits, f32 rounds the last quantum up to the next segment. So the result is clamped again as an
    // integer.
    let quantum = u32(clamp((x - segment.start) * segment.quanta, 0.0, f32(last)));
    return (segment.number << segment_bits) | min(quantum, last);
}

// Returns the bits to flip in the keys of a world's entries, so that keys of different worlds mostly differ. The bits
// are the world's number, at key bits that are mostly constant among the cells of one world. Different keys of one
// world stay different; the sweep relies only on this property.
fn tile_of(world: u32) -> u32 {
    let bits = frame.cell_bits - frame.tile_bits;
    let low = world & ((1u << bits.x) - 1u);
    let high = (world >> bits.x) & ((1u << bits.y) - 1u);
    let cell = (low << frame.tile_bits.x) | (high << (frame.cell_bits.x + frame.tile_bits.y));
    return cell << frame.position_bits;
}

// Values that are the same for all boxes.
struct Invariants {
    // True if the axes are coordinate axes. Then `is_y` and `is_z` specify which of the sweep axis, u and v are y and
    // z.
    is_straight: bool,
    is_y: vec3<bool>,
    is_z: vec3<bool>,
    // True if any box may be plain. Then `before` is the offset that makes the cells of plain boxes nonnegative, and
    // `ids` the count of these cells along u and v.
    has_plain: bool,
    before: vec4<i32>,
    ids: vec4<u32>,
    // True if a box in one or two cells along u and v is never a giant.
    has_few: bool,
}

fn frame_invariants() -> Invariants {
    let ids = vec2<i32>(vec2<u32>(1u) << frame.tile_bits);
    let before = select(vec2<i32>(0), ids / 2, frame.cell_min < vec2<i32>(0));
    let is_x = vec3<f32>(frame.sweep.x, frame.plane_u.x, frame.plane_v.x) == vec3<f32>(1.0);
    let is_y = vec3<f32>(frame.sweep.y, frame.plane_u.y, frame.plane_v.y) == vec3<f32>(1.0);
    let is_z = vec3<f32>(frame.sweep.z, frame.plane_u.z, frame.plane_v.z) == vec3<f32>(1.0);
    return Invariants(
        all(is_x | is_y | is_z),
        is_y,
        is_z,
        frame.sweep_slop == 0.0 && frame.inverse_cell <= PLAIN_INVERSE_CELL,
        before.xyxy,
        vec4<u32>(ids.xyxy),
        frame.giant_cells >= 4u && all(frame.max_span >= vec2<u32>(2u)),
    );
}

// The intervals of a box along the sweep axis, u and v.
struct Intervals {
    low: vec3<f32>,
    high: vec3<f32>,
}

// Projects a box. Along a coordinate axis, the projection is a coordinate.
fn intervals_of(low: vec3<f32>, high: vec3<f32>, invariants: Invariants) -> Intervals {
    if invariants.is_straight {
        return Intervals(
            select(select(low.xxx, low.yyy, invariants.is_y), low.zzz, invariants.is_z),
            select(select(high.xxx, high.yyy, invariants.is_y), high.zzz, invariants.is_z),
        );
    }
    let sweep = project(frame.sweep, low, high);
    let u = project(frame.plane_u, low, high);
    let v = project(frame.plane_v, low, high);
    return Intervals(vec3<f32>(sweep.x, u.x, v.x), vec3<f32>(sweep.y, u.y, v.y));
}

// Returns whether a box is plain. Two plain boxes overlap if their quantised data overlap by more than a fixed slop
// (docs/exactness.md). A box is plain if the axes are coordinate axes, its interval is longer than the widening, and no
// coordinate is denormal. Also, its cells must have unique ids among the cells of plain boxes: if ids repeat, only
// cells near the origin qualify.
fn is_plain(own: Binned, min_bits: vec3<u32>, max_bits: vec3<u32>, invariants: Invariants) -> bool {
    // As unsigned numbers, negative cells are larger than all ids.
    let is_central = all(vec4<u32>(own.cells + invariants.before) < invariants.ids);
    let start = own.start & ((1u << frame.position_bits) - 1u);
    let is_long = own.end >= start + PROVEN_QUANTA;
    let has_denormal = least_of(min(beyond_zero(min_bits), beyond_zero(max_bits))) < 0x007fffffu;
    return invariants.has_plain & is_central & is_long & !has_denormal;
}

// Returns the bits of floats without signs, minus one. Zero wraps around to the largest value, so only denormals are
// small.
fn beyond_zero(bits: vec3<u32>) -> vec3<u32> {
    return (bits & vec3<u32>(0x7fffffffu)) - vec3<u32>(1u);
}

fn least_of(three: vec3<u32>) -> u32 {
    return min(three.x, min(three.y, three.z));
}

// A box in the grid.
struct Binned {
    cells: vec4<i32>,
    start: u32,
    end: u32,
    footprint: u32,
}

// Places box i, with these bounds, in the grid.
fn place_box(i: u32, kind: u32, min_bits: vec3<u32>, max_bits: vec3<u32>, invariants: Invariants) -> Binned {
    var own = Binned(select(CELLS_OF_UNBOUNDED, CELLS_OF_INVALID, kind == KIND_INVALID), 0u, 0u, 0u);
    var world = 0u;
    var has_worlds = false;
    if IS_FILTERED {
        world = world_of(i);
        has_worlds = filter_layout.world != ABSENT;
    }
    if world == WORLD_GLOBAL {
        // A global box meets boxes of every world, so it has no cells: it is a giant.
    } else if kind == KIND_FINITE && is_within(min_bits, max_bits, frame.limit) {
        let low = bitcast<vec3<f32>>(min_bits) * frame.scale;
        let high = bitcast<vec3<f32>>(max_bits) * frame.scale;
        let along = intervals_of(low, high, invariants);
        let place = place_along(vec2<f32>(along.low.y, along.high.y), vec2<f32>(along.low.z, along.high.z));
        let start = position(along.low.x - frame.sweep_slop);
        let end = position(along.high.x + frame.sweep_slop);
        let last = (1u << frame.position_bits) - 1u;
        var tile = 0u;
        if has_worlds {
            tile = tile_of(world);
        }
        own.cells = place.cells;
        own.start = tile | (max(start, 1u) - 1u);
        own.end = min(end, last - 1u) + 1u;
        own.footprint = footprint_of(place.fractions);
        if is_plain(own, min_bits, max_bits, invariants) {
            own.footprint |= FOOTPRINT_PLAIN;
        }
    } else if has_worlds && kind != KIND_INVALID && world < arrayLength(&world_cells) {
        // An unbounded box gets all cells of its world, so that it is not tested against other worlds. A world that the
        // host did not know when it recorded the search has no cells: its unbounded boxes are giants.
        own.cells = cells_of_world(world_cells[world]);
        own.start = tile_of(world);
        own.end = (1u << frame.position_bits) - 1u;
        own.footprint = footprint_of(vec4<u32>(0u, 0u, FRACTION_LAST, FRACTION_LAST));
    }
    if IS_FILTERED {
        if filter_layout.second != ABSENT {
            own.footprint |= select(0u, FOOTPRINT_SECOND, bit_of(filter_layout.second, i) == 1u);
        }
    }
    return own;
}

// Counts of entries and giants at each level, and of invalid boxes. `low` has levels 0 to 3, `high` levels 4 to 7.
struct Totals {
    low_entries: vec4<u32>,
    high_entries: vec4<u32>,
    low_giants: vec4<u32>,
    high_giants: vec4<u32>,
    invalid: u32,
}

// Adds a box with these cells to the totals.
fn add_box(totals: Totals, own: vec4<i32>, is_invalid: bool) -> Totals {
    var low_counts = vec4<u32>(0u);
    var high_counts = vec4<u32>(0u);
    if is_binned(own) {
        low_counts = cell_counts(own, LOW_SHIFTS, frame.max_span, frame.giant_cells);
        high_counts = vec4<u32>(cell_counts(own, HIGH_SHIFTS, frame.max_span, frame.giant_cells).xyz, 1u);
    }
    let may_be_giant = vec4<u32>(select(1u, 0u, is_invalid));
    return Totals(
        totals.low_entries + low_counts,
        totals.high_entries + high_counts,
        totals.low_giants + select(vec4<u32>(0u), may_be_giant, low_counts == vec4<u32>(0u)),
        totals.high_giants + select(vec4<u32>(0u), may_be_giant, high_counts == vec4<u32>(0u)),
        totals.invalid + select(0u, 1u, is_invalid),
    );
}

// Counts of boxes in one or two cells along u and v, packed in bytes. `low` has the additional entries, beyond one per
// box, at levels 0 to 3. `high` has the additional entries at levels 4 to 6, and in its highest byte the box count.
struct Few {
    low: u32,
    high: u32,
}

const_assert BIN_BLOCK == 1024u;

// Returns whether a box is in one or two cells along u and v.
fn has_few(own: vec4<i32>) -> bool {
    // For a box without cells, the difference is -1.
    let more = vec2<u32>(own.zw - own.xy);
    return (more.x | more.y) <= 1u;
}

// Adds a box in one or two cells along u and v. Two consecutive cells are distinct at a level if their bits at its
// shift differ. A box has one additional entry at a level if its cells are distinct along u or v, and three if along
// both.
fn add_few(few: Few, own: vec4<i32>) -> Few {
    let along_u = u32(own.x ^ own.z);
    let along_v = u32(own.y ^ own.w);
    let either = along_u | along_v;
    let both = along_u & along_v;
    return Few(
        few.low + low_levels(either) + 2u * low_levels(both),
        few.high + high_levels(either) + 2u * high_levels(both) + 0x01000000u,
    );
}

const_assert LEVEL_SHIFTS[0] == 0u && LEVEL_SHIFTS[1] == 1u && LEVEL_SHIFTS[2] == 2u && LEVEL_SHIFTS[3] == 3u;
const_assert LEVEL_SHIFTS[4] == 4u && LEVEL_SHIFTS[5] == 6u && LEVEL_SHIFTS[6] == 8u;

// Moves bits 0 to 3 into one byte each. The product adds copies seven bits apart, which do not overlap.
fn low_levels(bits: u32) -> u32 {
    return ((bits & 0xfu) * 0x00204081u) & 0x01010101u;
}

// Moves bits 4, 6 and 8 into one byte each. The product adds copies six bits apart, which do not overlap.
fn high_levels(bits: u32) -> u32 {
    return (((bits >> 4u) & 0x15u) * 0x00001041u) & 0x00010101u;
}

// Returns the totals with these boxes added.
fn with_few(totals: Totals, few: Few) -> Totals {
    let bytes = vec4<u32>(0u, 8u, 16u, 24u);
    let boxes = vec4<u32>(few.high >> 24u);
    return Totals(
        totals.low_entries + boxes + ((vec4<u32>(few.low) >> bytes) & vec4<u32>(0xffu)),
        totals.high_entries + boxes + ((vec4<u32>(few.high & 0x00ffffffu) >> bytes) & vec4<u32>(0xffu)),
        totals.low_giants,
        totals.high_giants,
        totals.invalid,
    );
}

// Adds up and writes the counts of all invocations. Every invocation of the workgroup must call it.
fn write_block(local: u32, block: u32, mine: Totals) {
    low_sums[local] = mine.low_entries;
    high_sums[local] = mine.high_entries;
    workgroupBarrier();
    if any(mine.low_giants + mine.high_giants > vec4<u32>(0u)) || mine.invalid > 0u {
        for (var k = 0u; k < 4u; k += 1u) {
            atomicAdd(&giants[k], mine.low_giants[k]);
            atomicAdd(&giants[k + 4u], mine.high_giants[k]);
        }
        atomicAdd(&invalid, mine.invalid);
    }
    // Add up sixteen invocations each, then the sixteen sums.
    var low_entries = mine.low_entries;
    var high_entries = mine.high_entries;
    let run_end = select(0u, 256u, local < 16u);
    for (var k = local + 16u; k < run_end; k += 16u) {
        low_entries += low_sums[k];
        high_entries += high_sums[k];
    }
    // No invocation reads the first sixteen elements above, so they can be overwritten.
    if local < 16u {
        low_sums[local] = low_entries;
        high_sums[local] = high_entries;
    }
    workgroupBarrier();
    if local < LEVELS && block * BIN_BLOCK < params.box_count {
        var sum = 0u;
        for (var k = 0u; k < 16u; k += 1u) {
            sum += select(high_sums[k], low_sums[k], local < 4u)[local % 4u];
        }
        write_count(block, local, sum);
        write_count(block, LEVELS + local, atomicLoad(&giants[local]));
        if local == 0u {
            write_count(block, 2u * LEVELS, atomicLoad(&invalid));
        }
    }
}

// Writes a count of a block, and adds it to the count of its group.
fn write_count(block: u32, k: u32, count: u32) {
    let groups = div_ceil(div_ceil(params.box_count, BIN_BLOCK), BIN_GROUP);
    atomicStore(&block_counts[(groups + block) * BIN_COUNTS + k], count);
    if count > 0u {
        atomicAdd(&block_counts[block / BIN_GROUP * BIN_COUNTS + k], count);
    }
}

@compute @workgroup_size(256)
fn bin_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    if local < LEVELS {
        atomicStore(&giants[local], 0u);
    }
    if local == 0u {
        atomicStore(&invalid, 0u);
    }
    if local < KNOT_COUNT {
        let knots = frame.knots[local / 2u];
        knot_starts[local] = select(knots.x, knots.z, local % 2u == 1u);
        knot_quanta[local] = select(knots.y, knots.w, local % 2u == 1u);
    }
    workgroupBarrier();
    let invariants = frame_invariants();
    var totals = Totals();
    var few = Few();
    for (var i = block * BIN_BLOCK + local; i < min((block + 1u) * BIN_BLOCK, params.box_count); i += 256u) {
        let bits = box_of(load_words(i), local % 2u == 1u);
        let kind = kind_of(bits.min, bits.max);
        let own = place_box(i, kind, bits.min, bits.max, invariants);
        cells[i] = packed_cells(own.cells, own.start);
        box_ends[i] = vec2<u32>(own.end, own.footprint);
        if invariants.has_few && has_few(own.cells) {
            few = add_few(few, own.cells);
        } else {
            totals = add_box(totals, own.cells, kind == KIND_INVALID);
        }
    }
    write_block(local, block, with_few(totals, few));
}
