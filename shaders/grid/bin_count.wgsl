// bin_count: the cells and the quantised interval of each box, and how many entries each block of boxes has.
//
// Reads   boxes         [box_count * 3] bits of f32, two at a time
//         frame         one Frame
//         filter_layout, filters: worlds and sets (filters.wgsl)
//         world_cells   [world_count] of bin_worlds
// Writes  cells         [box_count] first and last cell, before any coarsening
//         positions     [box_count] (start, end) on the sweep axis, and where in its first and last cells the box
//                       begins and ends, as a footprint: bytes (first u, last u, first v, last v). Above the start,
//                       where a key has the cell, are the bits that tell its world apart
//         block_counts  [ceil(box_count / BIN_BLOCK) * BIN_COUNTS] per block: entries at each level of
//                       coarsening, giants at each level, invalid boxes
// Cells and positions are computed here once and kept as integers. Later stages compare integers only, so no
// rounding of a later kernel can disagree with this one. Every interval is widened by more than any rounding:
// boxes that share a point share a cell, and the start of either is not after the end of the other.
// Source: a uniform grid with sweep and prune inside each cell, Li, Lu, He 2003 (USSCD); cells are columns here.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> frame: Frame;
@group(0) @binding(3) var<storage, read_write> cells: array<vec4<i32>>;
@group(0) @binding(4) var<storage, read_write> positions: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> block_counts: array<u32>;
@group(0) @binding(6) var<storage, read> world_cells: array<vec4<u32>>;

const LOW_SHIFTS: vec4<u32> = vec4<u32>(LEVEL_SHIFTS[0], LEVEL_SHIFTS[1], LEVEL_SHIFTS[2], LEVEL_SHIFTS[3]);
// The last level has one cell for all, and no shift.
const HIGH_SHIFTS: vec4<u32> = vec4<u32>(LEVEL_SHIFTS[4], LEVEL_SHIFTS[5], LEVEL_SHIFTS[6], 31u);

// Entries at the levels, per invocation, then per run of sixteen.
var<workgroup> low_sums: array<vec4<u32>, 256>;
var<workgroup> high_sums: array<vec4<u32>, 256>;
var<workgroup> giants: array<atomic<u32>, LEVELS>;
var<workgroup> invalid: atomic<u32>;

// Counts how many of eight knots start at or before x.
fn knots_before(x: f32, first: u32) -> u32 {
    let a = frame.knots[first].xz;
    let b = frame.knots[first + 1u].xz;
    let c = frame.knots[first + 2u].xz;
    let d = frame.knots[first + 3u].xz;
    let at = vec4<f32>(x);
    let counts = select(vec4<u32>(0u), vec4<u32>(1u), vec4<f32>(a, b) <= at)
        + select(vec4<u32>(0u), vec4<u32>(1u), vec4<f32>(c, d) <= at);
    return counts.x + counts.y + counts.z + counts.w;
}

// Quantises x on the sweep axis. Monotone: comparisons choose the segment, and inside it a product is clamped to the
// segment's quanta. Counting all knots is quicker than a search among them: it loads from constant places.
fn position(x: f32) -> u32 {
    let before = knots_before(x, 0u) + knots_before(x, 4u) + knots_before(x, 8u) + knots_before(x, 12u);
    let segment = max(before, 1u) - 1u;
    let segment_bits = frame.position_bits - KNOT_BITS;
    let last = (1u << segment_bits) - 1u;
    let knots = frame.knots[segment / 2u];
    let knot = select(knots.xy, knots.zw, segment % 2u == 1u);
    // Of more than 24 bits, the last quantum rounds up to the first of the next segment: clamped as an integer.
    let quantum = u32(clamp((x - knot.x) * knot.y, 0.0, f32(last)));
    return (segment << segment_bits) | min(quantum, last);
}

// Returns what the keys of a world's entries are changed by, bit by bit, so that they differ from those of most other
// worlds: its number, in the bits that cells of one world do not vary in, or not often. Keys of one world that differ
// still do, and that is all that the sweep relies on.
fn tile_of(world: u32) -> u32 {
    let bits = frame.cell_bits - frame.tile_bits;
    let low = world & ((1u << bits.x) - 1u);
    let high = (world >> bits.x) & ((1u << bits.y) - 1u);
    let cell = (low << frame.tile_bits.x) | (high << (frame.cell_bits.x + frame.tile_bits.y));
    return cell << frame.position_bits;
}

// Tells whether a box is plain: where it overlaps another plain box by enough of what the grid knows of both, the boxes
// overlap (docs/exactness.md). The axes are those of the coordinates. None of its cells has the id of another cell
// that a plain box may be in: where ids repeat, those about the origin count. Its interval is longer than what its ends
// were moved by. No rounding to zero matters.
fn is_plain(own: Binned, min_bits: vec3<u32>, max_bits: vec3<u32>) -> bool {
    let ids = vec2<i32>(vec2<u32>(1u) << frame.tile_bits);
    let before = select(vec2<i32>(0), ids / 2, frame.cell_min < vec2<i32>(0));
    let is_central = all(own.cells.xy + before >= vec2<i32>(0)) && all(own.cells.zw + before < ids);
    let start = own.position.x & ((1u << frame.position_bits) - 1u);
    let is_long = own.position.y >= start + SURE_QUANTA;
    let has_denormal = any(is_denormal(min_bits)) || any(is_denormal(max_bits));
    let is_scaled = frame.sweep_slop == 0.0 && frame.inverse_cell <= PLAIN_INVERSE_CELL;
    return is_scaled && is_central && is_long && !has_denormal;
}

fn is_denormal(bits: vec3<u32>) -> vec3<bool> {
    return (bits & vec3<u32>(0x7fffffffu)) - vec3<u32>(1u) < vec3<u32>(0x007fffffu);
}

// A box in the grid, as `cells` and `positions` have it.
struct Binned {
    cells: vec4<i32>,
    position: vec4<u32>,
}

// Puts box i, of these bounds, into the grid.
fn place_box(i: u32, kind: u32, min_bits: vec3<u32>, max_bits: vec3<u32>) -> Binned {
    var own = Binned(select(CELLS_OF_UNBOUNDED, CELLS_OF_INVALID, kind == KIND_INVALID), vec4<u32>(0u));
    let world = world_of(i);
    if world == WORLD_GLOBAL {
        // It meets boxes in the cells of every world.
    } else if kind == KIND_FINITE && is_within(min_bits, max_bits, frame.limit) {
        let low = bitcast<vec3<f32>>(min_bits) * frame.scale;
        let high = bitcast<vec3<f32>>(max_bits) * frame.scale;
        let place = place_of(low, high);
        let interval = project(frame.sweep, low, high);
        let start = position(interval.x - frame.sweep_slop);
        let end = position(interval.y + frame.sweep_slop);
        let last = (1u << frame.position_bits) - 1u;
        own.cells = place.cells;
        own.position = vec4<u32>(
            tile_of(world) | (max(start, 1u) - 1u),
            min(end, last - 1u) + 1u,
            footprint_of(place.fractions),
            0u,
        );
        if is_plain(own, min_bits, max_bits) {
            own.position.z |= FOOTPRINT_PLAIN;
        }
    } else if HAS_WORLDS && kind != KIND_INVALID && world < arrayLength(&world_cells) {
        // A world that there was not yet as the search was recorded has no cells, and its boxes without an end are giants.
        // In all cells that boxes of its world are in, so that it need not be tested against other worlds.
        let everywhere = footprint_of(vec4<u32>(0u, 0u, FRACTION_LAST, FRACTION_LAST));
        own.cells = cells_of_world(world_cells[world]);
        own.position = vec4<u32>(tile_of(world), (1u << frame.position_bits) - 1u, everywhere, 0u);
    }
    if HAS_SETS {
        own.position.z |= select(0u, FOOTPRINT_SECOND, bit_of(filter_layout.second, i) == 1u);
    }
    return own;
}

// Entries and giants at each level, low ones first, and invalid boxes.
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

// Adds up what all invocations counted, and writes it. Every invocation of the workgroup has to call.
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
    // Sixteen runs of sixteen, then the runs.
    var low_entries = mine.low_entries;
    var high_entries = mine.high_entries;
    let run_end = select(0u, 256u, local < 16u);
    for (var k = local + 16u; k < run_end; k += 16u) {
        low_entries += low_sums[k];
        high_entries += high_sums[k];
    }
    // The first sixteen are not among those that were read.
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
        let base = block * BIN_COUNTS;
        block_counts[base + local] = sum;
        block_counts[base + LEVELS + local] = atomicLoad(&giants[local]);
        if local == 0u {
            block_counts[base + 2u * LEVELS] = atomicLoad(&invalid);
        }
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
    var totals = Totals();
    for (var i = block * BIN_BLOCK + local; i < min((block + 1u) * BIN_BLOCK, params.box_count); i += 256u) {
        let min_bits = min_bits_of(i);
        let max_bits = max_bits_of(i);
        let kind = kind_of(min_bits, max_bits);
        let own = place_box(i, kind, min_bits, max_bits);
        cells[i] = own.cells;
        positions[i] = own.position;
        totals = add_box(totals, own.cells, kind == KIND_INVALID);
    }
    write_block(local, block, totals);
}
