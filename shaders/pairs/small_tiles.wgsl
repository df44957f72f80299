// Every box against every other, in tiles: shared by small_test and small_emit, which bind params.
//
// A block is 256 boxes. A tile is a block of rows against a block of columns, none left of the diagonal, numbered row
// by row. Word j of a row has 32 bits, one for each of the columns from 256 * (the row's block) + 32 * j on, and only
// those beyond the row may be set. The 256 rows' words j are a line of `hit_words`, and a tile has SMALL_LINES of them.
// A block's rows are SMALL_GROUPS groups of SMALL_ROWS, and `block_hits` has the pairs found: by block, in it by group,
// in that by tile. Everything before a group of rows in the list therefore comes before that group in `block_hits`.

// Groups of a block's rows. small_test gives an invocation a row of each, and it holds eight.
const SMALL_GROUPS: u32 = 256u / SMALL_ROWS;

fn small_blocks() -> u32 {
    return div_ceil(params.box_count, 256u);
}

// Counts the tiles of the rows before a block of them.
fn tiles_before(block: u32) -> u32 {
    return block * (2u * small_blocks() - block + 1u) / 2u;
}

// Returns where the pairs of a group of rows are counted in block_hits, tile by tile.
fn hits_at(block: u32, rows: u32) -> u32 {
    return tiles_before(block) * SMALL_GROUPS + rows * (small_blocks() - block);
}
