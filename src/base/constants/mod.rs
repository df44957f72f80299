//! Constants that kernels and host share. Each is defined once.
//!
//! [`wgsl`] is appended to the source of every kernel.

/// Declares constants for Rust, and a function `wgsl` that returns the same declarations in WGSL.
macro_rules! shared_constants {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: $kind = $value;)*

        /// Returns the declarations of these constants, in WGSL.
        pub(super) fn wgsl() -> String {
            let mut source = String::new();
            $(source += &$crate::base::constants::Literal::declaration(&$name, stringify!($name));)*
            source
        }
    };
}

mod codes;
mod grid;
mod pairs;
mod trees;

pub use {codes::*, grid::*, pairs::*, trees::*};

/// Returns the declarations of all shared constants, in WGSL.
pub fn wgsl() -> String {
    [grid::wgsl(), pairs::wgsl(), trees::wgsl(), codes::wgsl()].concat()
}

/// The most candidates of a call on a software adapter. With this limit, a block has at most `MOST_BLOCK_TILES` tiles
/// of the sweep, or one tile of giants. So no loop over the tiles of a block reaches `SOFTWARE_TURNS`, the count at
/// which Mesa's drivers end it.
pub const SOFTWARE_CANDIDATES: u64 = 8_000_000_000;

/// Boxes that a thread of the CPU engine processes at a time.
pub const CHUNK: usize = 1 << 11;

/// The most excluded pairs from a buffer. Their lists fit the binding limit of every device.
pub(crate) const EXCLUDE_MOST: u32 = 1 << 24;
/// The most turns of all loops of an invocation, in total, on a software adapter. Mesa's drivers end loops after this
/// count.
pub(crate) const SOFTWARE_TURNS: u32 = 65_535;
/// The most boxes of a search or tree on a software adapter, whose bindings have at most 128 MiB
/// (`LP_MAX_TGSI_SHADER_BUFFER_SIZE`).
const SOFTWARE_BOXES: u32 = (1 << 27) / 24;
/// The most turns of a binary search among the listed pairs of a box, or among half-spaces. `Filters::check` limits the
/// listed pairs.
const SEARCH_TURNS: u32 = MAX_ENTRIES.ilog2() + 1;

/// The most turns of loops of an invocation for a tile of giants, if filters make two searches per pair.
const GIANT_TURNS: u32 = {
    // Turns to load the bounds of the row, to test each giant against them, and to search the half-space of each giant
    // near the row. Also turns for the common bounds of these giants, which are computed twice.
    let near = GIANT_ROW + 4 * GIANT_GROUP + (1 + GIANT_GROUP) * SEARCH_TURNS;
    // Turns per box for the near giants, and for the filters of the giants that the box overlaps.
    let walk = GIANT_ROW * (1 + GIANT_GROUP * (2 + 2 * SEARCH_TURNS));
    // Turns for a scan of a tile, and for sums of blocks. `walk` counts twice, since pairs are counted
    // again before they are written.
    33 + 1 + HIT_SUMS / 256 + 2 + near + 2 * walk + GIANT_ROW * GIANT_GROUP
};

/// Returns the bits of a sort key for this many boxes and worlds. A key has as few bits as possible, since each
/// `BALLOT_BITS` bits need a pass of the sort.
pub(crate) const fn key_bits(box_count: u32, world_count: u32) -> u32 {
    if box_count <= KEY_BOXES && world_count <= KEY_WORLDS { KEY_BITS } else { LONG_KEY_BITS }
}

/// Returns the count of tiles of 256 by 256 tests of `small` for this many boxes, at most `SMALL_MOST`.
pub(crate) const fn small_tiles(box_count: u32) -> u32 {
    let blocks = box_count.div_ceil(256);
    blocks * (blocks + 1) / 2
}

/// A type whose values can be written as WGSL constants.
trait Literal {
    fn declaration(&self, name: &str) -> String;
}

impl Literal for u32 {
    fn declaration(&self, name: &str) -> String {
        format!("const {name}: u32 = {self}u;\n")
    }
}

impl Literal for i32 {
    fn declaration(&self, name: &str) -> String {
        format!("const {name}: i32 = {self}i;\n")
    }
}

impl Literal for f32 {
    fn declaration(&self, name: &str) -> String {
        // The shortest decimal that rounds to `f32::MAX` exceeds `f32::MAX`, and browsers reject it. So print more
        // digits.
        format!("const {name}: f32 = {:e}f;\n", f64::from(*self))
    }
}

impl<const N: usize> Literal for [u32; N] {
    fn declaration(&self, name: &str) -> String {
        let values = self.map(|value| format!("{value}u")).join(", ");
        format!("const {name}: array<u32, {N}> = array<u32, {N}>({values});\n")
    }
}

// Relations between constants. A violation fails to compile.
const _: () = {
    assert!(2 * MAX_CELL_BITS < 32 - MIN_POSITION_BITS + 1 && MIN_WRAP_BITS <= MAX_CELL_BITS);
    assert!(MIN_POSITION_BITS > KNOT_BITS);
    // Cells along u and v have at least one bit each, and the cells of a box are counted in 32 bits.
    assert!(
        MAX_WORLD_BITS + 2 + MIN_POSITION_BITS <= LONG_KEY_BITS
            && KEY_WORLDS.ilog2() + 2 + MIN_POSITION_BITS <= KEY_BITS
    );
    assert!(LONG_KEY_BITS - MIN_POSITION_BITS <= 2 * MAX_CELL_BITS && KEY_BITS < LONG_KEY_BITS);
    // If cell ids wrap around, one of u and v may have the fewest bits, and the other the most.
    assert!(MAX_CELL_BITS + MIN_WRAP_BITS + MIN_POSITION_BITS <= KEY_BITS);
    // For n boxes, a cell takes at most `5 * (log2 n + 1) / 6` bits of the key.
    assert!(5 * (KEY_BOXES.ilog2() + 1) / 6 + MIN_POSITION_BITS <= KEY_BITS);
    assert!(5 * (MAX_ENTRIES.ilog2() + 1) / 6 + MIN_POSITION_BITS <= LONG_KEY_BITS);
    assert!(1 << KNOT_BITS == KNOT_COUNT);
    // The entries of a group are counted in 32 bits.
    assert!(
        BIN_GROUP as u64 * BIN_BLOCK as u64 * MAX_CELLS as u64 <= u32::MAX as u64 && 256_u32.is_multiple_of(LEVELS)
    );
    assert!(CELL_BASE > CELL_REACH && CELL_REACH < 1 << 23);
    assert!(PATH_SECTION == 2 * 256 && PATH_SECTION.is_multiple_of(ENTRY_STRIDE));
    assert!(MOST_BLOCK_TILES * TILE_QUADS / PATH_SECTION + 1 + PATH_GROUP <= 256);
    assert!(SORT_TILE < 1 << 16);
    // A moving box has six bounds, a direction and a limit. A moving round shape appends two ends and a radius.
    assert!(ROUND_CAST_U32_COUNT == BOX_CAST_U32_COUNT + 7);
    assert!(TURNED_PARTS <= MOST_PARTS && CAPSULE_PARTS <= MOST_PARTS);
    assert!(SOLID_ROUNDING_BITS == ROUNDING_BITS - FLAT_BITS / 2);
    assert!(TILE_QUADS == 256 * RUN_QUADS && 4 * RUN_QUADS == 32);
    assert!(MOST_BLOCK_TILES.is_power_of_two() && MOST_BLOCK_TILES * RUN_TURNS < SOFTWARE_TURNS);
    // A quad has four candidates. Each entry has up to two additional quads, since its first and last quad may be
    // partial.
    assert!(
        SOFTWARE_CANDIDATES / 4 + 2 * MAX_ENTRIES as u64
            <= MOST_BLOCKS as u64 * MOST_BLOCK_TILES as u64 * TILE_QUADS as u64
    );
    // The count of blocks is the count of groups of giants times the count of tiles of rows, both rounded up. For g
    // giants among n boxes, g n is at most SOFTWARE_CANDIDATES, and there are up to 4 n entries.
    assert!(
        SOFTWARE_CANDIDATES / (GIANT_GROUP as u64 * GIANT_ROW as u64 * 256) * 5
            + 2 * SOFTWARE_CANDIDATES.isqrt() / GIANT_GROUP as u64
            + 5 * MAX_ENTRIES as u64 / (GIANT_ROW as u64 * 256)
            + 2
            <= MOST_GIANT_BLOCKS as u64
    );
    assert!(GIANT_TURNS < SOFTWARE_TURNS);
    assert!(GIANT_GROUP * GIANT_ROW < 1 << (32 - GIANT_GROUP));
    assert!(FRACTION_BITS == 7 && FOOTPRINT_FIRST == 1 << 7 | 1 << 23);
    assert!(LEVEL_SHIFTS[LEVELS as usize - 2] + FRACTION_BITS < 32);
    assert!(EVENT_TILE.is_multiple_of(256) && EVENT_TILE / 16 <= 256 && 32 % EVENT_RUN == 0);
    assert!(EVENT_RUN == 4);
    assert!(
        ORDER_TILE.is_multiple_of(256)
            && ORDER_ROWS.is_power_of_two()
            && ORDER_ROWS >= 256
            && ORDER_WINDOW.is_multiple_of(32 * 256)
    );
    assert!(ORDER_TILE == 512);
    // The turns of an invocation of `order_sort`. A tile overlaps up to three long rows. For each row, the workgroup
    // visits each window at most once. A window takes up to 76 turns, mostly for a scan. In addition, there is one turn
    // per element of the invocation in the window, and one per 1,024 elements of the row. A longer row has fewer
    // windows per workgroup.
    assert!(
        3 * ((SOFTWARE_BOXES / ORDER_WINDOW + 1) * 76 + SOFTWARE_BOXES / 1024 + SOFTWARE_BOXES / (2 * ORDER_WINDOW))
            < SOFTWARE_TURNS
    );
    // Turns of an invocation of `bin_scatter` that distributes the entries of a block.
    assert!(BIN_BLOCK / 256 * (MAX_CELLS + 64) < SOFTWARE_TURNS);
    // The counts of created and of persisting pairs of a tile share a word. Each invocation loads the counts of one
    // tile of a group.
    assert!(
        EVENT_TILE < 1 << 16
            && EVENT_GROUP <= 256
            && EVENT_TILE / EVENT_SPAN < 256
            && EVENT_SPAN.is_multiple_of(EVENT_RUN)
    );
    // The counts of digits share their memory with the keys of a tile. A word has the counts of two
    // digits. The counts fit for 32 subgroups with short digits, and for 16 subgroups with digits of `BALLOT_BITS`.
    // Each invocation processes one word.
    assert!((32 << SHORT_BALLOT_BITS) / 2 <= SORT_TILE);
    assert!(256 / BALLOT_LANES * BALLOT_RADIX / 2 <= SORT_TILE && BALLOT_RADIX / 2 <= 256);
    assert!(BALLOT_BITS > SHORT_BALLOT_BITS && RADIX_BITS <= SHORT_BALLOT_BITS);
    assert!(SORT_SECTIONS.is_multiple_of(SECTION_GROUP) && SORT_SECTIONS <= MAX_GROUPS_X);
    assert!(SORT_RUN == 16 && SORT_TILE == 4096);
    assert!(SORT_RUN.is_multiple_of(4));
    assert!(LEVEL_SHIFTS.len() == LEVELS as usize);
    assert!(LEVEL_SHIFTS[LEVELS as usize - 1] >= 32);
    assert!(MAX_ENTRIES <= ENTRY_BOX && MAX_ENTRIES < 1 << END_BITS && MAX_ENTRIES <= 1 << RANK_BITS);
    assert!(RANK_BITS + RUN_QUADS - 1 == 32);
    assert!(8 * SMALL_ROWS == 256 && SMALL_LINES * 32 == 256 && SMALL_LINES * SMALL_ROWS == 256);
    assert!(small_tiles(SMALL_MOST) * 256 / SMALL_ROWS <= 2 * MOST_BLOCKS);
    assert!(SMALL_MOST as u64 * (SMALL_MOST as u64 - 1) / 2 <= u32::MAX as u64);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_constants_are_powers_of_two() {
        assert_eq!(ORDINARY_MAX, 2f32.powi(80));
        assert_eq!(CELL_MIN, 2f32.powi(-112));
        const { assert!(CELL_MIN * PLANE_SLOP > f32::MIN_POSITIVE) };
        assert_eq!(CELL_MAX, 2f32.powi(60));
        assert_eq!(PLAIN_INVERSE_CELL, 2f32.powi(100));
        assert_eq!(KNOT_MIN, 2f32.powi(-98));
        assert_eq!(RELATIVE_SLOP, 2f32.powi(-21));
        assert_eq!(MOMENT_ERROR, 2f32.powi(-20));
        assert_eq!(OBLIQUE_ERROR, 2f32.powi(-19));
    }
}
