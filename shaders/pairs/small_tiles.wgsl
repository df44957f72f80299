// Divides the test of every box against every other box into tiles. Shared by small_test, small_include and small_emit,
// which bind params.
//
// A block is 256 boxes. A tile is a block of rows against a block of columns, on or right of the diagonal, numbered row
// by row. Word j of a row has a bit per column from 256 * (the row's block) + 32 * j on; only bits of columns beyond
// the row may be set. The words j of the 256 rows are a line of `hit_words`, and a tile has SMALL_LINES lines. The rows
// of a block are divided into SMALL_GROUPS groups of SMALL_ROWS rows. `block_hits` has the pair counts by block, then
// by group, then by tile, which is the order of the list of pairs.

// Groups of a block's rows. An invocation of small_test tests one row of each group; its code is written for eight
// groups.
const SMALL_GROUPS: u32 = 256u / SMALL_ROWS;

fn small_blocks() -> u32 {
    return div_ceil(params.box_count, 256u);
}

// Counts the tiles of the rows before a block of them.
fn tiles_before(block: u32) -> u32 {
    return block * (2u * small_blocks() - block + 1u) / 2u;
}

// Returns the place in block_hits of the pair counts of a group of rows, tile by tile.
fn hits_at(block: u32, rows: u32) -> u32 {
    return tiles_before(block) * SMALL_GROUPS + rows * (small_blocks() - block);
}
