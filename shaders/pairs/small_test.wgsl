// small_test: tests every box against every other exactly, for so few boxes that a sort takes longer.
//
// Reads   params, boxes [box_count * 3] bits of f32, two at a time
// Writes  hit_words   [tiles * SMALL_LINES * 256] a bit per test (small_tiles.wgsl)
//         block_hits  [tiles * SMALL_GROUPS] pairs found, by group of rows and tile
//
// One workgroup per tile; further workgroups do nothing. The columns are in workgroup memory. An invocation tests the
// columns of one word against eight rows, one of each group. So each loaded column is tested eight times, and adjacent
// invocations read the same column at the same time.
//
// Source: all pairs in tiles, after Nyland, Harris and Prins, Fast N-Body Simulation with CUDA, GPU Gems 3, 2007.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> hit_words: array<u32>;
@group(0) @binding(3) var<storage, read_write> block_hits: array<u32>;

var<workgroup> block_min: array<vec3<i32>, 256>;
var<workgroup> block_max: array<vec3<i32>, 256>;
var<workgroup> group_hits: array<atomic<u32>, SMALL_GROUPS>;

@compute @workgroup_size(256)
fn small_test(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let workgroup = group_index(group, groups);
    if workgroup >= tiles_before(small_blocks()) {
        return;
    }
    let tile = place_of(workgroup);
    let row = local % SMALL_ROWS;
    if local < SMALL_GROUPS {
        atomicStore(&group_hits[local], 0u);
    }
    load_block(tile.x, local);
    let low = four_rows(row);
    let high = four_rows(row + 4u * SMALL_ROWS);
    workgroupBarrier();
    load_block(tile.y, local);

    let line = local / SMALL_ROWS;
    let first = line * 32u;
    let first_column = tile.y * 256u + first;
    var low_words = vec4<u32>(0u);
    var high_words = vec4<u32>(0u);
    if first_column < params.box_count {
        for (var bit = 0u; bit < 32u; bit += 1u) {
            let column = block_box(first + bit);
            low_words |= hits(low, column) << vec4<u32>(bit);
            high_words |= hits(high, column) << vec4<u32>(bit);
        }
    }

    let across = tile.y - tile.x;
    let at = ((tiles_before(tile.x) + across) * SMALL_LINES + line) * 256u + row;
    let first_row = tile.x * 256u + row;
    for (var k = 0u; k < 4u; k += 1u) {
        store_word(k, at, low_words[k], first_row + k * SMALL_ROWS, first_column);
        store_word(k + 4u, at, high_words[k], first_row + (k + 4u) * SMALL_ROWS, first_column);
    }
    workgroupBarrier();
    if local < SMALL_GROUPS {
        block_hits[hits_at(tile.x, local) + across] = atomicLoad(&group_hits[local]);
    }
}

// Returns the blocks of rows and of columns of a workgroup's tile. Block row k and the k-th last block row together
// have one tile more than there are blocks.
fn place_of(workgroup: u32) -> vec2<u32> {
    let blocks = small_blocks();
    let block = workgroup / (blocks + 1u);
    let across = workgroup % (blocks + 1u);
    if across < blocks - block {
        return vec2<u32>(block, block + across);
    }
    return vec2<u32>(blocks - 1u - block, across - 1u);
}

// Loads the boxes of a block into workgroup memory.
fn load_block(block: u32, local: u32) {
    let loaded = sound_box(block * 256u + local);
    block_min[local] = loaded.min;
    block_max[local] = loaded.max;
    workgroupBarrier();
}

// Returns an input box, as ordered integers. A missing or invalid box becomes a box that overlaps nothing: its bounds
// are the largest and the smallest integer, to which no f32 maps.
fn sound_box(i: u32) -> OrderedBox {
    if i < params.box_count && kind_of(min_bits_of(i), max_bits_of(i)) != KIND_INVALID {
        return ordered_box(i);
    }
    return OrderedBox(vec3<i32>(0x7fffffff), bitcast<vec3<i32>>(vec3<u32>(0x80000000u)));
}

fn block_box(i: u32) -> OrderedBox {
    return OrderedBox(block_min[i], block_max[i]);
}

// Four rows, one of each of four groups.
struct FourRows {
    a: OrderedBox,
    b: OrderedBox,
    c: OrderedBox,
    d: OrderedBox,
}

fn four_rows(row: u32) -> FourRows {
    return FourRows(
        block_box(row),
        block_box(row + SMALL_ROWS),
        block_box(row + 2u * SMALL_ROWS),
        block_box(row + 3u * SMALL_ROWS),
    );
}

// Returns 1 for each row whose box overlaps the column's box, and otherwise 0.
fn hits(rows: FourRows, column: OrderedBox) -> vec4<u32> {
    let found = vec4<bool>(
        overlap(rows.a, column),
        overlap(rows.b, column),
        overlap(rows.c, column),
        overlap(rows.d, column),
    );
    return select(vec4<u32>(0u), vec4<u32>(1u), found);
}

// Returns the bits of a word for columns after box `row`. The first column of the word is box `column`.
fn beyond(row: u32, column: u32) -> u32 {
    if row < column {
        return 0xffffffffu;
    }
    return select(0u, 0xfffffffeu << ((row - column) & 31u), row - column < 32u);
}

// Returns the word of box `row` without the bits of pairs that the filters reject. The first column of the word is box
// `column`.
fn filtered(found: u32, row: u32, column: u32) -> u32 {
    var word = found;
    if IS_FILTERED {
        for (var rest = found; rest != 0u; rest &= rest - 1u) {
            let bit = firstTrailingBit(rest);
            if !passes(row, column + bit) {
                word &= ~(1u << bit);
            }
        }
    }
    return word;
}

// Stores and counts the word of box `row`, which is a row of group `k`. `at` is the place of the word of group 0.
fn store_word(k: u32, at: u32, found: u32, row: u32, column: u32) {
    let word = filtered(found & beyond(row, column), row, column);
    hit_words[at + k * SMALL_ROWS] = word;
    if word != 0u {
        atomicAdd(&group_hits[k], countOneBits(word));
    }
}
