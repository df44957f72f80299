//! Constants that the kernels and the host share, each written once.
//!
//! A changed value is picked up by the WGSL of every kernel: [`wgsl`] is appended to each of them.

/// Declares constants for Rust, and [`wgsl`] that declares the same ones for WGSL.
macro_rules! shared_constants {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: $kind = $value;)*

        /// The declarations of all shared constants, in WGSL.
        pub fn wgsl() -> String {
            let mut source = String::new();
            $(source += &Literal::declaration(&$name, stringify!($name));)*
            source
        }
    };
}

shared_constants! {
    // ---- statistics ----

    /// Most workgroups of either reduction of `pca`, and partial results.
    PCA_GROUPS: u32 = 256;
    /// Boxes that a workgroup of `pca` should have at least, while there are fewer than `PCA_GROUPS` of them.
    PCA_BLOCK: u32 = 512;
    /// The largest finite number: an empty minimum, and a sample that was not taken.
    FLOAT_MAX: f32 = f32::MAX;
    /// 2⁸⁰. Coordinates beyond it are sentinels rather than places, unless most boxes have them. Higher, and a
    /// sentinel's scale leaves too few exponents below it for the other boxes.
    ORDINARY_MAX: f32 = 1.208_925_8e24;

    // ---- grid and key ----

    /// Most key bits of a cell along u or v. The cells of a box are counted in 32 bits, so twice this must be less.
    MAX_CELL_BITS: u32 = 12;
    /// Fewest key bits along u or v where cell ids repeat. A box over more than half of 2^MIN_WRAP_BITS cells may
    /// then be a giant, so with fewer bits there would be many.
    MIN_WRAP_BITS: u32 = 5;
    /// Fewest key bits of a position; must exceed `KNOT_BITS`.
    MIN_POSITION_BITS: u32 = 8;
    /// How many tests of a giant cost as much as one entry costs in all stages.
    TESTS_PER_ENTRY: u32 = 64;
    /// Most cells of a binned box, whatever the number of boxes.
    MAX_CELLS: u32 = 4096;
    /// Cells this far from the origin are merged into the outermost one. Exact in f32, and its double in i32.
    CELL_REACH: i32 = 1 << 29;
    /// 2⁻¹²⁰, smallest cell edge in scaled units. Smaller, and its inverse overflows.
    CELL_MIN: f32 = 7.523_164e-37;
    /// 2⁶⁰, largest cell edge in scaled units.
    CELL_MAX: f32 = 1.152_921_5e18;
    /// By how much of a cell a box's range of cells is widened, whatever its size.
    PLANE_SLOP: f32 = 1.0 / 256.0;
    /// 2⁻²¹: by how much more, relative to the cell coordinate. Below 2⁻²² it no longer covers the rounding of
    /// two evaluations of the same expression.
    RELATIVE_SLOP: f32 = 1.0 / 2_097_152.0;
    /// 2⁻¹⁹: more than half of what two roundings of the dot product of a unit vector with coordinates below 4 can
    /// differ by, since both intervals of a pair are widened by it. Also the smallest cell edge of an oblique frame.
    OBLIQUE_ERROR: f32 = 1.0 / 524_288.0;
    /// Segments of the position scale, a power of two.
    KNOT_COUNT: u32 = 32;
    /// log2 of `KNOT_COUNT`.
    KNOT_BITS: u32 = 5;
    /// 2⁻⁹⁸: a shorter segment is a single quantum. Shorter, and its quanta per length overflow.
    KNOT_MIN: f32 = 3.155_443_6e-30;

    // ---- bin ----

    /// Boxes per workgroup of `bin`.
    BIN_BLOCK: u32 = 1024;
    /// Coarsenings of the grid that `bin_count` counts entries for.
    LEVELS: u32 = 8;
    /// Level k merges 2^shift by 2^shift cells. The last one must put everything into one cell, or entries
    /// might not fit.
    LEVEL_SHIFTS: [u32; 8] = [0, 1, 2, 3, 4, 6, 8, 32];
    /// Counts per block of boxes: entries and giants at each level, invalid boxes.
    BIN_COUNTS: u32 = 2 * LEVELS + 1;
    /// Flag of an entry in its box's first cell along u.
    ENTRY_FIRST_U: u32 = 1 << 31;
    /// Flag of an entry in its box's first cell along v.
    ENTRY_FIRST_V: u32 = 1 << 30;
    /// Flag of an entry in its box's last cell along u.
    ENTRY_LAST_U: u32 = 1 << 29;
    /// Flag of an entry in its box's last cell along v.
    ENTRY_LAST_V: u32 = 1 << 28;
    /// The box index of an entry.
    ENTRY_BOX: u32 = (1 << 28) - 1;
    /// Where in its cell a box begins and ends is kept in so many bits; an extent has four of them, and the eighth
    /// bit of each byte is free.
    FRACTION_BITS: u32 = 7;
    /// The last fraction of a cell.
    FRACTION_LAST: u32 = (1 << FRACTION_BITS) - 1;
    /// The eighth bits of the first and third byte of an extent: set where the entry is in its box's first cell
    /// along u, along v.
    EXTENT_FIRST: u32 = 0x0080_0080;
    /// How many invalid boxes are listed by index.
    INVALID_LISTED: u32 = 8;

    // ---- sort ----

    /// Bits sorted by one radix pass. Above 4, the counts per invocation no longer fit in 16 KiB.
    RADIX_BITS: u32 = 4;
    /// Values of a digit.
    RADIX: u32 = 1 << RADIX_BITS;
    /// Keys per invocation. 256 times as many must fit 16 bits.
    SORT_RUN: u32 = 16;
    /// Keys per workgroup.
    SORT_TILE: u32 = 256 * SORT_RUN;
    /// Pairs of passes that a 32-bit key can need.
    SORT_PASS_PAIRS: u32 = 4;

    // ---- sweep, giants, emit ----

    /// Entries per block of the path. Their candidates are counted in 32 bits, so `PATH_BLOCK * MAX_ENTRIES` must
    /// not exceed 2³².
    PATH_BLOCK: u32 = 256;
    /// Entries per invocation of `sweep_count`, and blocks per workgroup.
    COUNT_RUN: u32 = 8;
    /// Most entries.
    MAX_ENTRIES: u32 = 1 << 24;
    /// Quads of the path in a run, which an invocation of `sweep_test` looks at: their results are the bits of a word.
    RUN_QUADS: u32 = 8;
    /// log2 of `TILE_QUADS`.
    TILE_QUADS_BITS: u32 = 11;
    /// Quads per tile of the sweep: 256 runs.
    TILE_QUADS: u32 = 1 << TILE_QUADS_BITS;
    /// Runs that an invocation of `emit_place` looks at, and tiles that its workgroup takes at a time.
    PLACE_RUNS: u32 = 8;
    /// Tests per tile of a giant: 256 invocations with a word of bits each.
    HIT_TILE: u32 = 256 * 32;
    /// Most workgroups of `sweep_test`, and of `giants_test`.
    HIT_BLOCKS: u32 = 65_535;
    /// Workgroups along x before a dispatch goes on along y: WebGPU's limit.
    MAX_GROUPS_X: u32 = 65_535;

    // ---- codes ----

    /// `SweepAxis::Auto`.
    AXIS_AUTO: u32 = 0;
    /// `SweepAxis::Principal`.
    AXIS_PRINCIPAL: u32 = 1;
    /// `SweepAxis::X`; y and z follow.
    AXIS_X: u32 = 2;
    /// `CellSize::Auto`.
    CELL_AUTO: u32 = 0;
    /// `CellSize::Usscd`.
    CELL_USSCD: u32 = 1;
    /// `CellSize::Fixed`.
    CELL_FIXED: u32 = 2;
    /// The pairs in all are more than the list holds.
    OVERFLOW_PAIRS: u32 = 1;
    /// There are more candidates than `Options::candidate_limit`; nothing was tested.
    OVERFLOW_CANDIDATES: u32 = 2;
}

/// A value that can be written as a WGSL constant.
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
        // The shortest decimal that rounds to `f32::MAX` is above it, which browsers reject: more digits.
        format!("const {name}: f32 = {:e}f;\n", f64::from(*self))
    }
}

impl<const N: usize> Literal for [u32; N] {
    fn declaration(&self, name: &str) -> String {
        let values = self.map(|value| format!("{value}u")).join(", ");
        format!("const {name}: array<u32, {N}> = array<u32, {N}>({values});\n")
    }
}

// Constants that depend on each other agree, or nothing compiles.
const _: () = {
    assert!(2 * MAX_CELL_BITS < 32 - MIN_POSITION_BITS + 1 && MIN_WRAP_BITS <= MAX_CELL_BITS);
    assert!(MIN_POSITION_BITS > KNOT_BITS);
    assert!(1 << KNOT_BITS == KNOT_COUNT);
    assert!(PATH_BLOCK.is_multiple_of(COUNT_RUN) && PATH_BLOCK == 256); // a workgroup of sweep_count has COUNT_RUN blocks
    assert!(PATH_BLOCK as u64 * MAX_ENTRIES as u64 <= 1 << 32);
    assert!(SORT_TILE < 1 << 16);
    assert!(TILE_QUADS == 256 * RUN_QUADS && 4 * RUN_QUADS == 32);
    assert!(FRACTION_BITS == 7 && EXTENT_FIRST == 1 << 7 | 1 << 23);
    assert!(LEVEL_SHIFTS[LEVELS as usize - 2] + FRACTION_BITS < 32);
    assert!(2 * RADIX_BITS * SORT_PASS_PAIRS == 32);
    assert!(LEVEL_SHIFTS.len() == LEVELS as usize);
    assert!(LEVEL_SHIFTS[LEVELS as usize - 1] >= 32);
    assert!(MAX_ENTRIES <= ENTRY_BOX);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_constants_are_the_powers_of_two_that_they_stand_for() {
        assert_eq!(ORDINARY_MAX, 2f32.powi(80));
        assert_eq!(CELL_MIN, 2f32.powi(-120));
        assert_eq!(CELL_MAX, 2f32.powi(60));
        assert_eq!(KNOT_MIN, 2f32.powi(-98));
        assert_eq!(RELATIVE_SLOP, 2f32.powi(-21));
        assert_eq!(OBLIQUE_ERROR, 2f32.powi(-19));
    }
}
