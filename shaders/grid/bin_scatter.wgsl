// bin_scatter: writes the entries of each box with their sort keys, and the lists of giants and invalid boxes.
//
// Reads   params, frame
//         cells          [box_count], of bin_count, with the starts
//         block_counts   [groups * BIN_COUNTS], then [blocks * BIN_COUNTS], of bin_count: the level of coarsening, and
//                        the places of the entries of each block (bin_level.wgsl)
// Writes  keys           [entry_count] [cell v bits | cell u bits | start position]
//         entries        [entry_count] box index, with ENTRY_FIRST_U / ENTRY_FIRST_V set where the cell is the
//                        box's first along u / v, ENTRY_LAST_U / ENTRY_LAST_V where it is the last
//         giants         [giant_count] box indices, ascending
//         counts         level, entry_count, giant_count, invalid_count, tiles and blocks of giants; first_invalid,
//                        ascending
//         giant_sizes    of giants_test
// Changes box_ends       [box_count], of bin_count: where cells are merged, the footprints become those in merged cells
//
// Entries are in the order of boxes, and within a box row by row. Each invocation writes the entries of its boxes. If a
// box of the block is in many cells, the workgroup distributes the entries of the block evenly instead. Adjacent
// invocations process adjacent boxes, for coalesced access. Only in the scan, each invocation processes four
// consecutive boxes.
//
// Sources: the list of (cell, box) of Green 2008, Particle simulation using CUDA, with boxes in all cells they touch;
// repeating ids, as in a hashed grid: Teschner et al. 2003, Optimized spatial hashing for collision detection of
// deformable objects; load-balancing search, Baxter, Modern GPU, 2013.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> frame: Frame;
@group(0) @binding(2) var<storage, read_write> counts: Counts;
@group(0) @binding(3) var<storage, read> cells: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> box_ends: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> block_counts: array<u32>;
@group(0) @binding(9) var<storage, read_write> giant_sizes: array<u32, 3>;
@group(0) @binding(6) var<storage, read_write> keys: array<u32>;
@group(0) @binding(7) var<storage, read_write> entries: array<u32>;
@group(0) @binding(8) var<storage, read_write> giants: array<u32>;

const PER_INVOCATION: u32 = BIN_BLOCK / 256u;
const_assert PER_INVOCATION == 4u;
// The most cells of a box without a distribution of the block's entries.
const FEW_CELLS: u32 = 16u;
// Flags in an entry count. Entry counts are smaller, since a box in more than MAX_CELLS cells is a giant.
const IS_GIANT: u32 = 0x40000000u;
const IS_INVALID: u32 = 0x80000000u;
const_assert MAX_CELLS < IS_GIANT;

// The result of `counted` for each box of the block; then the entry count of the block before that box.
var<workgroup> entry_offsets: array<u32, BIN_BLOCK>;
var<workgroup> has_many: atomic<u32>;

@compute @workgroup_size(256)
fn bin_scatter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let level = level_of_grid(local);
    if local == 0u {
        atomicStore(&has_many, 0u);
    }
    add_before(local, block, level);
    // Adjacent invocations load adjacent boxes. Each loads four boxes at once, to overlap the latencies.
    let first = block * BIN_BLOCK + local;
    let own_a = words_of(first);
    let own_b = words_of(first + 256u);
    let own_c = words_of(first + 512u);
    let own_d = words_of(first + 768u);
    let count_a = counted(first, own_a, level);
    let count_b = counted(first + 256u, own_b, level);
    let count_c = counted(first + 512u, own_c, level);
    let count_d = counted(first + 768u, own_d, level);
    entry_offsets[local] = count_a;
    entry_offsets[local + 256u] = count_b;
    entry_offsets[local + 512u] = count_c;
    entry_offsets[local + 768u] = count_d;
    workgroupBarrier();
    let base = vec4<u32>(atomicLoad(&block_sums[0]), atomicLoad(&block_sums[1]), atomicLoad(&block_sums[2]), 0u);
    if block == 0u && local == 0u {
        counts.level = level;
        counts.entry_count = level_totals[level].x;
        counts.giant_count = level_totals[level].y;
        counts.invalid_count = atomicLoad(&block_sums[3]);
        divide_giants(level_totals[level].x, level_totals[level].y);
    }
    if max(max(entries_in(count_a), entries_in(count_b)), max(entries_in(count_c), entries_in(count_d))) > FEW_CELLS {
        atomicStore(&has_many, 1u);
    }
    let entry_count = place_block(local, block, base);
    workgroupBarrier();
    let deals = atomicLoad(&has_many) != 0u;
    finish_box(first, own_a, count_a, level, base.x + entry_offsets[local], deals);
    finish_box(first + 256u, own_b, count_b, level, base.x + entry_offsets[local + 256u], deals);
    finish_box(first + 512u, own_c, count_c, level, base.x + entry_offsets[local + 512u], deals);
    finish_box(first + 768u, own_d, count_d, level, base.x + entry_offsets[local + 768u], deals);
    for (var item = local; item < select(0u, entry_count, deals); item += 256u) {
        write_item(block, level, base.x, item);
    }
}

// Replaces the counts of the block's boxes by the count of entries before each box, and lists giants and invalid boxes.
// Returns the entry count of the block. Every invocation of the workgroup must call it.
fn place_block(local: u32, block: u32, base: vec4<u32>) -> u32 {
    // An invocation counts consecutive boxes. The counts of giants and invalid boxes share a word, since each is at
    // most BIN_BLOCK.
    let first = local * PER_INVOCATION;
    var mine = vec2<u32>(0u);
    for (var k = 0u; k < PER_INVOCATION; k += 1u) {
        let own = entry_offsets[first + k];
        mine += vec2<u32>(entries_in(own), listed_in(own));
    }
    let scan = scan_workgroup2(local, mine);
    var running = scan.before;
    for (var k = 0u; k < PER_INVOCATION; k += 1u) {
        let own = entry_offsets[first + k];
        entry_offsets[first + k] = running.x;
        if listed_in(own) > 0u {
            list_box(block * BIN_BLOCK + first + k, listed_in(own) == 1u, base, running.y);
        }
        running += vec2<u32>(entries_in(own), listed_in(own));
    }
    return scan.total.x;
}

// Merges the footprint of box i, if cells are merged, and writes its entries from `place` on, unless entries are
// distributed.
fn finish_box(i: u32, own: vec4<u32>, count: u32, level: u32, place: u32, deals: bool) {
    let entry_count = entries_in(count);
    if level > 0u && entry_count > 0u {
        box_ends[i].y = merged_footprint(cells_from(own), box_ends[i].y, level);
    }
    write_entries(i, own, level, place, select(entry_count, 0u, deals));
}

// Lists box i, which is a giant or invalid. `base` has the counts of giants and invalid boxes before the block,
// `running` the counts before the box within the block.
fn list_box(i: u32, is_giant: bool, base: vec4<u32>, running: u32) {
    let invalid = base.z + (running >> 16u);
    if is_giant {
        giants[base.y + (running & 0xffffu)] = i;
    } else if invalid < INVALID_LISTED {
        counts.first_invalid[invalid] = vec4<u32>(i, 0u, 0u, 0u);
    }
}

// Writes entry `item` of a block. The entries of the block begin at `first`.
//
// There is no loop here. Mesa's software drivers end all loops of an invocation after 65,535 turns in total, and an
// invocation may write 16,384 items.
fn write_item(block: u32, level: u32, first: u32, item: u32) {
    // Find the last box whose entries start at or before the item. A box without entries starts at the same place as
    // the next box, so it is never found.
    let half = advance(advance(0u, 512u, item), 256u, item);
    let sixteenth = advance(advance(half, 128u, item), 64u, item);
    let of_64 = advance(advance(sixteenth, 32u, item), 16u, item);
    let of_16 = advance(advance(of_64, 8u, item), 4u, item);
    let at = advance(advance(of_16, 2u, item), 1u, item);
    let nth = item - entry_offsets[at];
    let i = block * BIN_BLOCK + at;
    let own = cells[i];
    let span = coarse(cells_from(own), level);
    let width = u32(span.z - span.x) + 1u;
    write_entry(i, own.w, span, first + item, span.xy + vec2<i32>(vec2<u32>(nth % width, nth / width)));
}

// Returns `at + step` if the entries of that box start at or before the item, and otherwise `at`.
fn advance(at: u32, step: u32, item: u32) -> u32 {
    return select(at, at + step, entry_offsets[at + step] <= item);
}

const_assert BIN_BLOCK == 1024u;

// Writes the `count` entries of box i from `place` on. `own` is the result of `words_of`.
fn write_entries(i: u32, own: vec4<u32>, level: u32, place: u32, count: u32) {
    if count == 0u {
        return;
    }
    let span = coarse(cells_from(own), level);
    var cell = span.xy;
    for (var at = place; at < place + count; at += 1u) {
        write_entry(i, own.w, span, at, cell);
        cell = select(vec2<i32>(cell.x + 1, cell.y), vec2<i32>(span.x, cell.y + 1), cell.x == span.z);
    }
}

// Writes the entry of box i in a cell of its span. `start` also has the bits of the box's world, which are flipped in
// the cell.
fn write_entry(i: u32, start: u32, span: vec4<i32>, at: u32, cell: vec2<i32>) {
    let wrapped = vec2<u32>(cell) & ((vec2<u32>(1u) << frame.cell_bits) - 1u);
    keys[at] = (((wrapped.y << frame.cell_bits.x) | wrapped.x) << frame.position_bits) ^ start;
    entries[at] = i
        | select(0u, ENTRY_FIRST_U, cell.x == span.x)
        | select(0u, ENTRY_FIRST_V, cell.y == span.y)
        | select(0u, ENTRY_LAST_U, cell.x == span.z)
        | select(0u, ENTRY_LAST_V, cell.y == span.w);
}

// Returns the footprint in merged cells.
fn merged_footprint(own: vec4<i32>, footprint: u32, level: u32) -> u32 {
    let shift = LEVEL_SHIFTS[level];
    if shift >= 32u {
        return footprint_of(vec4<u32>(0u, 0u, FRACTION_LAST, FRACTION_LAST)) | (footprint & FOOTPRINT_SECOND);
    }
    let fractions = (vec4<u32>(footprint) >> vec4<u32>(0u, 16u, 8u, 24u)) & vec4<u32>(FRACTION_LAST);
    let within = vec4<u32>(own) & vec4<u32>((1u << shift) - 1u);
    let merged = footprint_of(((within << vec4<u32>(FRACTION_BITS)) | fractions) >> vec4<u32>(shift));
    return merged | (footprint & FOOTPRINT_OF_BOX);
}

// Loads the packed cells of a box; zeros beyond the last box, which `counted` ignores.
fn words_of(i: u32) -> vec4<u32> {
    if i < params.box_count {
        return cells[i];
    }
    return vec4<u32>(0u);
}

// Returns the entry count of box i, or a flag if the box is a giant or invalid. `words` is the result of `words_of`.
fn counted(i: u32, words: vec4<u32>, level: u32) -> u32 {
    if i >= params.box_count {
        return 0u;
    }
    let own = cells_from(words);
    if is_binned(own) {
        let count = cell_count(own, level, frame.max_span, frame.giant_cells);
        return select(count, IS_GIANT, count == 0u);
    }
    return select(IS_INVALID, IS_GIANT, own.y == CELLS_OF_UNBOUNDED.y);
}

// Returns the entry count without the flags of `counted`.
fn entries_in(count: u32) -> u32 {
    return count & (IS_GIANT - 1u);
}

// Returns 1 for a giant, 65,536 for an invalid box, 0 for other boxes, from the result of `counted`.
fn listed_in(count: u32) -> u32 {
    return ((count & IS_GIANT) >> 30u) | ((count & IS_INVALID) >> 15u);
}
