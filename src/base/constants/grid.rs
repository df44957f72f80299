//! Constants of the grid: statistics, frame, cells, keys and their sort.

shared_constants! {
    // ---- statistics ----

    /// The most workgroups of `pca_bounds`; each writes a partial result.
    PCA_GROUPS: u32 = 256;
    /// Boxes per workgroup of `pca_bounds`. A workgroup has more boxes only if there would be more than `PCA_GROUPS`
    /// workgroups.
    PCA_BLOCK: u32 = 2048;
    /// Boxes of the sample that determines axes, cell size and position scale.
    SAMPLES: u32 = 512;
    /// 2³² divided by the golden ratio. Its multiples modulo 2³² are spread evenly.
    GOLDEN: u32 = 2_654_435_769;
    /// The largest finite number: the minimum of an empty set, and the value of an unused sample.
    FLOAT_MAX: f32 = f32::MAX;
    /// 2⁸⁰. Larger coordinates are sentinels, not positions, unless most boxes have them. If larger numbers
    /// counted as positions, the scale would follow them, and the other boxes would be too small for `f32`.
    ORDINARY_MAX: f32 = 1.208_925_8e24;

    /// 2⁻²⁰: the largest rounding error of a variance of the scene, relative to the sum of the second moments. With a
    /// lower value, the choice between two equal directions depends on the adapter. With a higher value, real
    /// differences are ignored.
    MOMENT_ERROR: f32 = 1.0 / 1_048_576.0;

    // ---- grid and key ----

    /// The most key bits of a cell along u or v. Twice this must be less than 32, since the cells of a box are counted
    /// in 32 bits.
    MAX_CELL_BITS: u32 = 12;
    /// The fewest key bits along u or v if cell ids repeat. A box that spans more than half of 2^MIN_WRAP_BITS cells
    /// may then be a giant, so fewer bits cause many giants.
    MIN_WRAP_BITS: u32 = 5;
    /// The most key bits of a world. Worlds with equal bits share their cells.
    MAX_WORLD_BITS: u32 = 20;
    /// The fewest key bits of a position; must exceed `KNOT_BITS`.
    MIN_POSITION_BITS: u32 = 8;
    /// Bits of a key: three passes of `BALLOT_BITS`.
    KEY_BITS: u32 = 3 * BALLOT_BITS;
    /// The most boxes for which `KEY_BITS` are enough.
    KEY_BOXES: u32 = 1 << 22;
    /// The most worlds for which `KEY_BITS` are enough.
    KEY_WORLDS: u32 = 1 << 17;
    /// Bits of a key for more boxes or worlds.
    LONG_KEY_BITS: u32 = 32;
    /// The cost of one entry in all stages. The unit is one test of a giant against a box.
    TESTS_PER_ENTRY: u32 = 64;
    /// The most cells of a box that is not a giant, for any box count.
    MAX_CELLS: u32 = 4096;
    /// The largest cell coordinate. Cells farther from the origin are merged into the outermost cell. The value is
    /// exact in f32, and has 24 bits with its sign. At this distance, each box is widened by four cells
    /// (`RELATIVE_SLOP`), so cells hardly separate boxes.
    CELL_REACH: i32 = (1 << 23) - 1;
    /// An offset larger than every cell coordinate. Plus or minus a cell coordinate, it is positive.
    CELL_BASE: i32 = 1 << 30;
    /// 2⁻¹¹², the smallest cell edge in scaled units. In a smaller cell, a denormal that is flushed to zero could cause
    /// an error above `PLANE_SLOP`.
    CELL_MIN: f32 = 1.925_93e-34;
    /// Average count of entries per box at which `CellSize::Auto` aims. An entry costs as much as about fifty
    /// candidates. Fewer entries mean larger cells, and candidates grow with the square of the edge.
    ENTRIES_PER_BOX: f32 = 1.95;
    /// 2⁶⁰, the largest cell edge in scaled units.
    CELL_MAX: f32 = 1.152_921_5e18;
    /// The part of a cell by which a box's range of cells is widened. In the smallest cell, it exceeds the error of a
    /// denormal that is flushed to zero. With a larger value, footprints would have to overlap more
    /// to prove an overlap (`PROVEN_FRACTIONS`).
    PLANE_SLOP: f32 = 1.0 / 4096.0;
    /// 2⁻²¹: the part of the cell coordinate by which the range of cells is widened in addition. A value below 2⁻²²
    /// does not cover the rounding of two evaluations of the same expression.
    RELATIVE_SLOP: f32 = 1.0 / 2_097_152.0;
    /// 2⁻¹⁹: the widening of an interval in an oblique frame, and the smallest cell edge of such a frame. Two
    /// evaluations of the dot product of a unit vector and coordinates below 4 may differ. It suffices that the value
    /// exceeds half of the largest difference, since both intervals of a pair are widened.
    OBLIQUE_ERROR: f32 = 1.0 / 524_288.0;
    /// Segments of the position scale, a power of two.
    KNOT_COUNT: u32 = 32;
    /// log2 of `KNOT_COUNT`.
    KNOT_BITS: u32 = 5;
    /// 2⁻⁹⁸: a shorter segment is a single quantum, since its quanta per length would overflow.
    KNOT_MIN: f32 = 3.155_443_6e-30;

    // ---- bin ----

    /// Boxes per workgroup of `bin`.
    BIN_BLOCK: u32 = 1024;
    /// Levels of coarsening for which `bin_count` counts entries.
    LEVELS: u32 = 8;
    /// Level k merges 2^shift by 2^shift cells. The last level must have a single cell, since otherwise the entries may
    /// not fit.
    LEVEL_SHIFTS: [u32; 8] = [0, 1, 2, 3, 4, 6, 8, 32];
    /// Counts per block of boxes: entries and giants at each level, invalid boxes.
    BIN_COUNTS: u32 = 2 * LEVELS + 1;
    /// Consecutive blocks of boxes in a group, whose counts are also summed.
    BIN_GROUP: u32 = 64;
    /// Flag of an entry in its box's first cell along u.
    ENTRY_FIRST_U: u32 = 1 << 31;
    /// Flag of an entry in its box's first cell along v.
    ENTRY_FIRST_V: u32 = 1 << 30;
    /// Flag of an entry in its box's last cell along u.
    ENTRY_LAST_U: u32 = 1 << 29;
    /// Flag of an entry in its box's last cell along v.
    ENTRY_LAST_V: u32 = 1 << 28;
    /// Mask of the box index of an entry.
    ENTRY_BOX: u32 = (1 << 28) - 1;
    /// Bits of a fraction: the position in a cell at which a box begins or ends. A footprint has four fractions, and
    /// the eighth bit of each byte is a flag.
    FRACTION_BITS: u32 = 7;
    /// The last fraction of a cell.
    FRACTION_LAST: u32 = (1 << FRACTION_BITS) - 1;
    /// The eighth bits of the first and third byte of a footprint. The bit of the first byte is set if the entry
    /// is in its box's first cell along u, and the bit of the third byte if it is in the first cell along v.
    FOOTPRINT_FIRST: u32 = 0x0080_0080;
    /// The eighth bit of the second byte of a footprint: set if the box is *plain*. If the footprints of two plain
    /// boxes overlap enough, the boxes overlap along u and v.
    FOOTPRINT_PLAIN: u32 = 1 << 15;
    /// The eighth bit of the fourth byte of a footprint: set if the box is in the second of two sets.
    FOOTPRINT_SECOND: u32 = 1 << 31;
    /// The bits of a footprint that are the same in all cells of the box.
    FOOTPRINT_OF_BOX: u32 = FOOTPRINT_PLAIN | FOOTPRINT_SECOND;
    /// 128ths of a cell by which two footprints must overlap along u and v to prove that the boxes overlap. A smaller
    /// overlap may be caused by the widening of both boxes.
    PROVEN_FRACTIONS: u32 = 2;
    /// Quanta by which two widened intervals on the sweep axis must overlap to prove that the boxes overlap. With exact
    /// positions, three would suffice. Five allow two evaluations of a position to differ by two quanta.
    PROVEN_QUANTA: u32 = 5;
    /// 2¹⁰⁰: the most cells per unit length at which a box can be plain. In smaller cells, a denormal that is flushed
    /// to zero can cause an error of a 128th of a cell.
    PLAIN_INVERSE_CELL: f32 = 1.267_650_6e30;
    /// The most invalid boxes that are listed by index.
    INVALID_LISTED: u32 = 8;

    // ---- sort ----

    /// Bits sorted by one pass of `sort_scatter`. Above 4, the counts of 256 invocations no longer fit in 16 KiB.
    RADIX_BITS: u32 = 4;
    /// Values of a digit of `RADIX_BITS`.
    RADIX: u32 = 1 << RADIX_BITS;
    /// Bits sorted by one pass of `sort_ballot` with subgroups of 8.
    SHORT_BALLOT_BITS: u32 = 8;
    /// Bits sorted by one pass of `sort_ballot` with subgroups of 16 or more.
    BALLOT_BITS: u32 = 9;
    /// Values of a digit of `BALLOT_BITS`.
    BALLOT_RADIX: u32 = 1 << BALLOT_BITS;
    /// The least subgroup size for which the counts of digits of `BALLOT_BITS` fit in 16 KiB.
    BALLOT_LANES: u32 = 16;
    /// Keys per invocation of `sort_scatter`, and of `sort_ballot`, which has four vectors of four keys. 256 times this
    /// must fit 16 bits.
    SORT_RUN: u32 = 16;
    /// Keys per tile, which a workgroup sorts at once.
    SORT_TILE: u32 = 256 * SORT_RUN;
    /// The most sections of a sort: about two per compute unit of the largest GPUs. One workgroup sorts a section, tile
    /// by tile. With more sections, loading the counts of other sections takes most of the time.
    SORT_SECTIONS: u32 = 256;
    /// Sections in a group, whose counts of digits are also summed.
    SECTION_GROUP: u32 = 32;
    /// The most passes between two clears of the sums: twice the passes of a 32-bit key with digits of `RADIX_BITS`.
    SORT_PASSES: u32 = 2 * 32 / RADIX_BITS;
}
