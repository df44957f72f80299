// bin_scatter: writes the entries of each box with their sort keys, and the lists of giants and invalid boxes.
//
// Reads   frame, counts (level)
//         cells          [box_count], of bin_count
//         bin_offsets  [blocks], of bin_scan
// Writes  keys           [entry_count] [cell v bits | cell u bits | start position]
//         entries        [entry_count] box index, with ENTRY_FIRST_U / ENTRY_FIRST_V set where the cell is the
//                        box's first along u / v, ENTRY_LAST_U / ENTRY_LAST_V where it is the last
//         giants         [giant_count] box indices, ascending
//         counts         first_invalid, ascending
// Changes positions      [box_count], of bin_count: where cells are merged, the footprints become those in merged cells
// Entries come in the order of boxes, those of one box by rows of cells. Each invocation writes those of its boxes,
// unless a box of the block is in many cells: then the block's entries are dealt out evenly over the workgroup, so that
// such a box does not hold up one invocation.
// Sources: the list of (cell, box) of Green 2008, Particle simulation using CUDA, with boxes in all cells they touch;
// ids that repeat, as those of a hashed grid: Teschner et al. 2003, Optimized spatial hashing for collision detection
// of deformable objects; load-balancing search, Baxter, Modern GPU, 2013.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> frame: Frame;
@group(0) @binding(2) var<storage, read_write> counts: Counts;
@group(0) @binding(3) var<storage, read> cells: array<vec4<i32>>;
@group(0) @binding(4) var<storage, read_write> positions: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> bin_offsets: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> keys: array<u32>;
@group(0) @binding(7) var<storage, read_write> entries: array<u32>;
@group(0) @binding(8) var<storage, read_write> giants: array<u32>;

const PER_INVOCATION: u32 = BIN_BLOCK / 256u;
// A box in more cells has its entries dealt out.
const FEW_CELLS: u32 = 16u;

// The block's entries before each of its boxes.
var<workgroup> entry_offsets: array<u32, BIN_BLOCK>;
var<workgroup> has_many: atomic<u32>;

@compute @workgroup_size(256)
fn bin_scatter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let level = counts.level;
    let first_box = block * BIN_BLOCK + local * PER_INVOCATION;
    if local == 0u {
        atomicStore(&has_many, 0u);
    }
    // A block has so few boxes that giants and invalid ones share a count.
    var mine = vec2<u32>(0u);
    var most = 0u;
    for (var k = 0u; k < PER_INVOCATION; k += 1u) {
        let own = counted(first_box + k, level);
        mine += own;
        most = max(most, own.x);
    }
    let scan = scan_workgroup2(local, mine);
    if most > FEW_CELLS {
        atomicStore(&has_many, 1u);
    }
    var running = scan.before;
    var base = vec4<u32>(0u);
    if block * BIN_BLOCK < params.box_count {
        base = bin_offsets[block];
    }
    for (var k = 0u; k < PER_INVOCATION; k += 1u) {
        let i = first_box + k;
        let own = counted(i, level);
        entry_offsets[local * PER_INVOCATION + k] = running.x;
        if own.y > 0u {
            list_box(i, own.y == 1u, base, running.y);
        }
        if level > 0u && own.x > 0u {
            positions[i].z = merged_footprint(cells[i], positions[i].z, level);
        }
        running += own;
    }
    // Also of positions, which another invocation may read below.
    storageBarrier();
    workgroupBarrier();
    if atomicLoad(&has_many) == 0u {
        for (var k = 0u; k < PER_INVOCATION; k += 1u) {
            let count = counted(first_box + k, level).x;
            if count > 0u {
                let place = base.x + entry_offsets[local * PER_INVOCATION + k];
                write_entries(first_box + k, level, place, vec2<u32>(0u), count);
            }
        }
        return;
    }
    for (var item = local; item < scan.total.x; item += 256u) {
        write_item(block, level, base.x, item);
    }
}

// Lists box i, a giant or an invalid one. `base` has the giants and invalid boxes before the block, `running` those
// before the box within it.
fn list_box(i: u32, is_giant: bool, base: vec4<u32>, running: u32) {
    let invalid = base.z + (running >> 16u);
    if is_giant {
        giants[base.y + (running & 0xffffu)] = i;
    } else if invalid < INVALID_LISTED {
        counts.first_invalid[invalid] = vec4<u32>(i, 0u, 0u, 0u);
    }
}

// Writes entry number `item` of a block, whose entries begin at `first`.
fn write_item(block: u32, level: u32, first: u32, item: u32) {
    // The last box whose entries start at or before the item; boxes without entries start where the
    // next one does, and so are passed over.
    var at = 0u;
    for (var half = BIN_BLOCK / 2u; half > 0u; half /= 2u) {
        if entry_offsets[at + half] <= item {
            at += half;
        }
    }
    let nth = item - entry_offsets[at];
    let span = coarse(cells[block * BIN_BLOCK + at], level);
    let width = u32(span.z - span.x) + 1u;
    write_entries(block * BIN_BLOCK + at, level, first + item, vec2<u32>(nth % width, nth / width), 1u);
}

// Writes `count` entries of box i, of which the first is in cell (du, dv) of its cells and goes to `place`.
fn write_entries(i: u32, level: u32, place: u32, first: vec2<u32>, count: u32) {
    let span = coarse(cells[i], level);
    let width = u32(span.z - span.x) + 1u;
    let height = u32(span.w - span.y) + 1u;
    // With the bits of its world, which change those of the cell.
    let start = positions[i].x;
    let mask = (vec2<u32>(1u) << frame.cell_bits) - 1u;
    var du = first.x;
    var dv = first.y;
    for (var nth = 0u; nth < count; nth += 1u) {
        let wrapped = (vec2<u32>(span.xy) + vec2<u32>(du, dv)) & mask;
        let cell = (wrapped.y << frame.cell_bits.x) | wrapped.x;
        keys[place + nth] = (cell << frame.position_bits) ^ start;
        entries[place + nth] = i
            | select(0u, ENTRY_FIRST_U, du == 0u)
            | select(0u, ENTRY_FIRST_V, dv == 0u)
            | select(0u, ENTRY_LAST_U, du + 1u == width)
            | select(0u, ENTRY_LAST_V, dv + 1u == height);
        du += 1u;
        if du == width {
            du = 0u;
            dv += 1u;
        }
    }
}

// Returns the footprint in cells that are merged.
fn merged_footprint(own: vec4<i32>, footprint: u32, level: u32) -> u32 {
    let shift = LEVEL_SHIFTS[level];
    if shift >= 32u {
        return footprint_of(vec4<u32>(0u, 0u, FRACTION_LAST, FRACTION_LAST));
    }
    let fractions = (vec4<u32>(footprint) >> vec4<u32>(0u, 16u, 8u, 24u)) & vec4<u32>(FRACTION_LAST);
    let within = vec4<u32>(own) & vec4<u32>((1u << shift) - 1u);
    let merged = footprint_of(((within << vec4<u32>(FRACTION_BITS)) | fractions) >> vec4<u32>(shift));
    return merged | (footprint & FOOTPRINT_PLAIN);
}

// Counts the entries of a box; 1 for a giant, 65,536 for an invalid box.
fn counted(i: u32, level: u32) -> vec2<u32> {
    if i >= params.box_count {
        return vec2<u32>(0u);
    }
    let own = cells[i];
    if is_binned(own) {
        let count = cell_count(own, level, frame.max_span, frame.giant_cells);
        return vec2<u32>(count, select(0u, 1u, count == 0u));
    }
    return vec2<u32>(0u, select(0x10000u, 1u, own.y == CELLS_OF_UNBOUNDED.y));
}
