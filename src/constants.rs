//! Constants that the kernels and the host share, each written once.
//!
//! A changed value is picked up by the WGSL of every kernel: [`wgsl`] is appended to each of them.

/// Declares constants for Rust, and [`wgsl`] that declares the same ones for WGSL.
macro_rules! shared_constants {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: $kind = $value;)*

        /// Returns the declarations of all shared constants, in WGSL.
        pub fn wgsl() -> String {
            let mut source = String::new();
            $(source += &Literal::declaration(&$name, stringify!($name));)*
            source
        }
    };
}

shared_constants! {
    // ---- statistics ----

    /// Most workgroups of `pca_bounds`, and partial results.
    PCA_GROUPS: u32 = 256;
    /// Boxes that a workgroup of `pca_bounds` should have at least, while there are fewer than `PCA_GROUPS` of them.
    PCA_BLOCK: u32 = 2048;
    /// Boxes of the sample that axes, cell size and position scale are chosen from.
    SAMPLES: u32 = 512;
    /// 2³² divided by the golden ratio. Multiples of it, modulo 2³², are spread evenly.
    GOLDEN: u32 = 2_654_435_769;
    /// The largest finite number: an empty minimum, and a sample that was not taken.
    FLOAT_MAX: f32 = f32::MAX;
    /// 2⁸⁰. Coordinates beyond it are sentinels rather than places, unless most boxes have them. With a higher value, a
    /// sentinel's scale leaves too few exponents below it for the other boxes.
    ORDINARY_MAX: f32 = 1.208_925_8e24;

    /// 2⁻²⁰: by how much of the sum of its second moments rounding may change a variance of the scene. With a lower
    /// value, it depends on the adapter which of two equal directions is taken; with a higher one, differences that are
    /// there do not count.
    MOMENT_ERROR: f32 = 1.0 / 1_048_576.0;

    // ---- grid and key ----

    /// Most key bits of a cell along u or v. The cells of a box are counted in 32 bits, so twice this must be less.
    MAX_CELL_BITS: u32 = 12;
    /// Fewest key bits along u or v where cell ids repeat. A box over more than half of 2^MIN_WRAP_BITS cells may
    /// then be a giant, so with fewer bits there would be many.
    MIN_WRAP_BITS: u32 = 5;
    /// Most key bits that tell worlds apart. Worlds that have no other such bits share their cells.
    MAX_WORLD_BITS: u32 = 20;
    /// Fewest key bits of a position; must exceed `KNOT_BITS`.
    MIN_POSITION_BITS: u32 = 8;
    /// Bits of a key: three passes of `BALLOT_BITS`.
    KEY_BITS: u32 = 3 * BALLOT_BITS;
    /// The most boxes for which `KEY_BITS` are enough.
    KEY_BOXES: u32 = 1 << 22;
    /// The most worlds for which `KEY_BITS` are enough.
    KEY_WORLDS: u32 = 1 << 17;
    /// Bits of a key for more boxes or worlds.
    LONG_KEY_BITS: u32 = 32;
    /// How many tests of a giant cost as much as one entry costs in all stages.
    TESTS_PER_ENTRY: u32 = 64;
    /// Most cells of a binned box, whatever the number of boxes.
    MAX_CELLS: u32 = 4096;
    /// Cells this far from the origin are merged into the outermost one. Exact in f32, and of 24 bits with its sign. So far out
    /// every box is widened by four cells (`RELATIVE_SLOP`), and cells hardly tell boxes apart.
    CELL_REACH: i32 = (1 << 23) - 1;
    /// A number above every cell, so that cells can be counted from it up and down without a sign.
    CELL_BASE: i32 = 1 << 30;
    /// 2⁻¹¹², the smallest cell edge in scaled units. In a smaller one, a flushed denormal could be more than `PLANE_SLOP`.
    CELL_MIN: f32 = 1.925_93e-34;
    /// Entries that a box should have on average with `CellSize::Auto`. An entry costs as much as some fifty
    /// candidates; fewer entries mean larger cells and more candidates, which grow as the square.
    ENTRIES_PER_BOX: f32 = 1.95;
    /// 2⁶⁰, the largest cell edge in scaled units.
    CELL_MAX: f32 = 1.152_921_5e18;
    /// The part of a cell by which a box's range of cells is widened, whatever the size of the box: more than a flushed denormal
    /// of the smallest cell. Of a larger one, survivors of the sweep would have to share more to be sure.
    PLANE_SLOP: f32 = 1.0 / 4096.0;
    /// 2⁻²¹: the part of the cell coordinate by which the range is widened further. Below 2⁻²² it no longer covers the
    /// rounding of two evaluations of the same expression.
    RELATIVE_SLOP: f32 = 1.0 / 2_097_152.0;
    /// 2⁻¹⁹: more than half of what two roundings of the dot product of a unit vector with coordinates below 4 can
    /// differ by, since both intervals of a pair are widened by it. Also the smallest cell edge of an oblique frame.
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
    /// Coarsenings of the grid that `bin_count` counts entries for.
    LEVELS: u32 = 8;
    /// Level k merges 2^shift by 2^shift cells. The last one must put everything into one cell, or entries
    /// might not fit.
    LEVEL_SHIFTS: [u32; 8] = [0, 1, 2, 3, 4, 6, 8, 32];
    /// Counts per block of boxes: entries and giants at each level, invalid boxes.
    BIN_COUNTS: u32 = 2 * LEVELS + 1;
    /// Blocks of boxes in a row whose counts are also summed.
    BIN_GROUP: u32 = 64;
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
    /// Bits of the number that says where in its cell a box begins or ends; a footprint has four such numbers, and the
    /// eighth bit of each byte is free.
    FRACTION_BITS: u32 = 7;
    /// The last fraction of a cell.
    FRACTION_LAST: u32 = (1 << FRACTION_BITS) - 1;
    /// The eighth bits of the first and third byte of a footprint: set where the entry is in its box's first cell
    /// along u, along v.
    FOOTPRINT_FIRST: u32 = 0x0080_0080;
    /// The eighth bit of the second byte of a footprint: set where the box is *plain*, so that enough overlap of two
    /// footprints is an overlap of the boxes along u and v.
    FOOTPRINT_PLAIN: u32 = 1 << 15;
    /// The eighth bit of the fourth byte of a footprint: set where the box is in the second of two sets.
    FOOTPRINT_SECOND: u32 = 1 << 31;
    /// The bits of a footprint that say something of the box, in whatever cell.
    FOOTPRINT_OF_BOX: u32 = FOOTPRINT_PLAIN | FOOTPRINT_SECOND;
    /// By how many 128ths of a cell two footprints must overlap, along u and v, so that the boxes overlap for sure. With
    /// fewer, what they share may be the slop of both.
    SURE_FRACTIONS: u32 = 2;
    /// By how many quanta, widened as they are, two intervals on the sweep axis must overlap for the same. Three are
    /// enough; with five, two evaluations of a position may differ by two.
    SURE_QUANTA: u32 = 5;
    /// 2¹⁰⁰: cells per unit at most, for a box to be plain. In a smaller cell, a flushed denormal is a step of a 128th.
    PLAIN_INVERSE_CELL: f32 = 1.267_650_6e30;
    /// How many invalid boxes are listed by index.
    INVALID_LISTED: u32 = 8;

    // ---- trees and queries ----

    /// 2⁶⁰ in bits. Where no coordinate and no speed is larger, nothing overflows that looks along a path or around a point
    /// in `f32`.
    USUAL_BITS: u32 = (127 + 60) << 23;
    /// 2⁻⁶⁰ in bits: the least speed, along an axis, of which the same is true.
    SLOW_BITS: u32 = (127 - 60) << 23;
    /// Invocations of a workgroup of a kernel that walks: one for each query, where they are not shared.
    WALKERS: u32 = 64;
    /// Invocations that share a query for all answers, if there are few queries: one for each box of a leaf, so that a subgroup follows
    /// a fourth to an eighth of the queries, and loads a leaf at once.
    SHARERS: u32 = 8;
    /// The most half-spaces that a shape is cut out by which a tree is asked with: a query has to get on within what drivers let one
    /// dispatch do.
    MOST_PARTS: u32 = 64;
    /// Words of a region: bounds, the number of its first half-space, and how many there are. No other shape has as many.
    REGION_WORDS: u32 = 8;
    /// The most half-spaces that cut out a box that is turned: two along each of three normals and nine edges.
    TURNED_PARTS: u32 = 24;
    /// The most half-spaces that cut out a capsule: two along its direction, and across it and each axis.
    CAPSULE_PARTS: u32 = 8;
    /// 2 to the minus this is more than a dozen roundings of `f64` change, relative to the sizes of what is added. With a higher
    /// value a turned box or a capsule may miss a box.
    ROUNDING_BITS: u32 = 46;
    /// The same, of what rests on the arms of a turned box, which are known less well: `FLAT_BITS / 2` bits.
    SOLID_ROUNDING_BITS: u32 = 36;
    /// Axes lie so nearly in a plane that only faces cut out a turned box where their volume, squared, is no more than 2 to the minus
    /// this, for axes of unit length.
    FLAT_BITS: u32 = 20;
    /// The levels above the leaves of the tallest tree that fits a binding; a power of two.
    WAITING_LEVELS: u32 = 8;
    /// The lowest levels, which `tree_bottom` makes.
    BOTTOM_LEVELS: u32 = 3;
    /// Boxes of a workgroup of `tree_bottom`: those under a node of the highest of these levels.
    BOTTOM_BOXES: u32 = 512;
    /// Bits of a place along the curve that boxes and queries are ordered by, and of the keys of boxes: as many as `sort_ballot` takes in
    /// three passes.
    PLACE_BITS: u32 = 27;
    /// Places of the curve along each axis.
    CURVE_SIDE: u32 = 1 << (PLACE_BITS / 3);
    /// The most answers in a row of the first answers of a query. Where all is decided it is kept sorted: each goes to its place past
    /// those behind it. A query that asks for more gets one row after the other.
    ROW: u32 = 64;
    /// The answers of a list that the kernels which count keep, so that no list of so few is looked for twice; even. Each invocation
    /// that puts one of them in order compares it with the others.
    KEPT_ANSWERS: u32 = 32;
    /// Invocations that put such a list in order.
    SORTERS: u32 = 8;
    /// Blocks of 256 queries whose answers are also summed.
    QUERY_GROUP: u32 = 64;
    /// Stands in the upper half of a number of answers for a list that is longer; answers take the bits below.
    LONG_LIST: u32 = 1 << 16;
    /// In place of the place among the leaves from which a query is resumed: nothing is left of it.
    NOWHERE: u32 = u32::MAX;
    /// The same: it begins again at the first place, in any order.
    AGAIN: u32 = u32::MAX - 1;
    /// The same: it has no meaning.
    INVALID_QUERY: u32 = u32::MAX - 2;
    /// `QueryParams::flags`: queries go on from where the last dispatch left them.
    QUERY_RESUMED: u32 = 1;
    /// The answers behind those of the last row are asked for.
    QUERY_NEXT_ROW: u32 = 2;
    /// All answers of each query are asked for.
    QUERY_LISTS: u32 = 4;
    /// It is asked whether each query has any answer.
    QUERY_ANY: u32 = 8;
    /// Lists are written that were too long to be kept when they were counted.
    QUERY_EMITS: u32 = 16;
    /// `SHARERS` invocations share a query.
    QUERY_SHARED: u32 = 32;
    /// Queries have filters of their own.
    QUERY_FILTERS: u32 = 64;
    /// Whether a query meets a box depends on groups, bodies or a box to ignore.
    QUERY_GROUPS: u32 = 128;
    /// Boxes that a path touches at its start are no hits.
    QUERY_SKIPS_START: u32 = 256;
    /// Of a query: it has all its answers.
    STATUS_ANSWERED: u32 = 0;
    /// Of a query: a number has no meaning.
    STATUS_INVALID: u32 = 1;
    /// Of a query: it took more rounds than were recorded.
    STATUS_UNFINISHED: u32 = 2;
    /// `QueryFilters::NO_BOX`.
    NO_BOX: u32 = u32::MAX;

    // ---- sort ----

    /// Bits sorted by one pass of `sort_scatter`. Above 4, the counts of 256 invocations no longer fit in 16 KiB.
    RADIX_BITS: u32 = 4;
    /// Values of such a digit.
    RADIX: u32 = 1 << RADIX_BITS;
    /// Bits sorted by one pass of `sort_ballot` with subgroups of 8.
    SHORT_BALLOT_BITS: u32 = 8;
    /// Bits sorted by one pass of `sort_ballot` with subgroups of 16 or more.
    BALLOT_BITS: u32 = 9;
    /// Values of such a digit.
    BALLOT_RADIX: u32 = 1 << BALLOT_BITS;
    /// The fewest invocations of a subgroup with which the counts of digits of `BALLOT_BITS` fit in 16 KiB.
    BALLOT_LANES: u32 = 16;
    /// Keys per invocation of `sort_scatter`, and of `sort_ballot`, which has four vectors of four. 256 times as many must
    /// fit 16 bits.
    SORT_RUN: u32 = 16;
    /// Keys that a workgroup sorts at once.
    SORT_TILE: u32 = 256 * SORT_RUN;
    /// The most sections of a sort, each of which one workgroup sorts tile by tile: about two for each unit of the largest GPUs. With more,
    /// workgroups mostly load the counts of other sections.
    SORT_SECTIONS: u32 = 256;
    /// Sections whose counts of digits are also summed.
    SECTION_GROUP: u32 = 32;
    /// The most passes between two clears of the sums: twice those of a 32-bit key by `RADIX_BITS`.
    SORT_PASSES: u32 = 2 * 32 / RADIX_BITS;

    // ---- sweep, giants, emit ----

    /// Giants lie behind the entries, from a multiple of this on: buffers are bound from multiples of 256 bytes on.
    ENTRY_ALIGNMENT: u32 = 64;
    /// Entries from one that has a base on the path to the next.
    ENTRY_STRIDE: u32 = 8;
    /// Entries per section of the path, which is a workgroup of `rank_ends`. Its quads are counted in 64 bits.
    PATH_SECTION: u32 = 512;
    /// Sections in a row whose quads and candidates are summed.
    PATH_GROUP: u32 = 64;
    /// Most entries.
    MAX_ENTRIES: u32 = 1 << 25;
    /// Bits of a word of `stretches` that hold the rank where the candidates of the entry end. The bits above count the
    /// last candidates that may begin after the entry ends, in spite of their keys.
    END_BITS: u32 = 26;
    /// The most that this count can be. It means all candidates.
    ALL_UNSURE: u32 = (1 << (32 - END_BITS)) - 1;
    /// How far the search for the end of an entry looks first, behind the quads of keys that were looked at, before it doubles its
    /// step. A lower value suits entries with few candidates, a higher one those with many.
    FIRST_REACH: u32 = 4;
    /// Quads of the path in a run, which an invocation of `sweep_test` looks at: their results are the bits of a word.
    RUN_QUADS: u32 = 8;
    /// Words that a run takes in memory.
    RUN_WORDS: u32 = 3;
    /// Bits of a rank in the word of a run that holds its turns above.
    RANK_BITS: u32 = 25;
    /// log2 of `TILE_QUADS`.
    TILE_QUADS_BITS: u32 = 11;
    /// Quads per tile of the sweep: 256 runs.
    TILE_QUADS: u32 = 1 << TILE_QUADS_BITS;
    /// Giants in a row that an invocation tests against the bounds of a row of boxes, and then against its boxes: a bit each in its word, above
    /// which the number of pairs is.
    GIANT_GROUP: u32 = 16;
    /// Entries in a row, or giants, whose bounds giants are tested against first.
    GIANT_ROW: u32 = 32;
    /// Most blocks of tiles of the sweep: a workgroup tests a block, and its pairs are counted together.
    MOST_BLOCKS: u32 = 65_535;
    /// Most blocks of tiles of giants, likewise.
    MOST_GIANT_BLOCKS: u32 = 1 << 19;
    /// Blocks in a row whose pairs are also summed.
    SUM_BLOCKS: u32 = 256;
    /// Such sums that there may be.
    HIT_SUMS: u32 = (MOST_GIANT_BLOCKS + MOST_BLOCKS + 1) / SUM_BLOCKS;
    /// Turns of loops that `sweep_test` takes for a run at most: itself, the quads, the survivors, and the filters' look at
    /// each, with a search among as many listed pairs or half-spaces as there can be. Twice what they are.
    RUN_TURNS: u32 = 2 * (2 + RUN_QUADS + 32 + 32 * (1 + 33));
    /// Most tiles of a block of the sweep, a power of two, unless there would be more than `MOST_BLOCKS`: an invocation of `sweep_test` takes a
    /// run of each. Mesa's drivers in software end all loops of some eight or sixteen invocations after 65,535 turns together, and other
    /// drivers end dispatches that take too long.
    MOST_BLOCK_TILES: u32 = 16;
    /// Workgroups of `sweep_test` that keep a GPU busy: about as many as the largest runs at once. Where there are fewer, a block has fewer
    /// tiles.
    SWEEP_GROUPS: u32 = 1024;
    /// Workgroups along x before a dispatch goes on along y: WebGPU's limit.
    MAX_GROUPS_X: u32 = 65_535;

    // ---- small ----

    /// Rows per workgroup of `small_emit`, and invocations of `small_test` with the same columns: each has 256 of
    /// them divided by this many rows, of which its code has eight.
    SMALL_ROWS: u32 = 32;
    /// Words that a row has in a tile of `small_test`, 256 by 256 tests.
    SMALL_LINES: u32 = 8;
    /// The most that `Options::all_pairs_up_to` can mean. The counts of `small_test`, for 128 × 129 / 2 tiles then,
    /// must fit `block_hits`, and its pairs 32 bits.
    SMALL_MOST: u32 = 1 << 15;

    // ---- canonical order ----

    /// Rows whose sizes a workgroup adds up.
    ORDER_ROWS: u32 = 1024;
    /// Rows of an invocation among these.
    ORDER_ROW_RUN: u32 = ORDER_ROWS / 256;
    /// Elements of rows that a workgroup sorts.
    ORDER_TILE: u32 = 512;
    /// Elements of a row at most, for each of which all others are counted that are smaller.
    ORDER_SHORT: u32 = 256;
    /// The most longer rows that have a part in a tile: two that begin or end outside, and those between.
    ORDER_LONG_ROWS: u32 = (ORDER_TILE - 2) / (ORDER_SHORT + 1) + 2;
    /// Boxes that have a bit each in workgroup memory.
    ORDER_WINDOW: u32 = 32 * 1024;

    // ---- events ----

    /// Pairs of a list that a workgroup compares with another list, or of which it lists some.
    EVENT_TILE: u32 = 1024;
    /// Pairs that lie between two places of another list that are looked up beforehand.
    EVENT_SPAN: u32 = 256;
    /// Tiles in a row whose counts are summed.
    EVENT_GROUP: u32 = 64;
    /// Tiles of the last list in a row whose found pairs a workgroup adds up before it counts them for all: those of a tile mostly lie in
    /// two.
    EVENT_NEAR: u32 = 4;
    /// Words that tell how many events there are of each kind, and whether the step counts.
    EVENT_TOTALS: u32 = 4;
    /// Words of the last step in front of the generations.
    EVENT_GENERATIONS: u32 = 2;
    /// Pairs in a row that an invocation of a workgroup of 256 finds and lists.
    EVENT_RUN: u32 = EVENT_TILE / 256;
    /// In place of a place in the last list: the last step did not have the pair. In place of a name: it did not have the
    /// box.
    EVENT_CREATED: u32 = u32::MAX;

    // ---- codes ----

    /// `Kept::Words`.
    KEPT_WORDS: u32 = 0;
    /// `Kept::Flags`.
    KEPT_FLAGS: u32 = 1;
    /// `Kept::Margins`.
    KEPT_MARGINS: u32 = 2;

    /// Boxes are those of the last step with the same index.
    NAMING_INDEX: u32 = 0;
    /// Of each box there is a number, which another box in its place does not have.
    NAMING_GENERATIONS: u32 = 1;
    /// Of each box there is the index that it had in the last step.
    NAMING_WAS: u32 = 2;

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
    /// There are more pairs than the list holds.
    OVERFLOW_PAIRS: u32 = 1;
    /// There are more candidates than `Options::candidate_limit`; nothing was tested.
    OVERFLOW_CANDIDATES: u32 = 2;
    /// Answers could not be written to their end in the rounds that were recorded; none is there.
    OVERFLOW_UNFINISHED: u32 = 3;
    /// Two boxes were said to be one of the last step; nothing was compared.
    OVERFLOW_NAMES: u32 = 4;
    /// The number of boxes, in a buffer, is beyond what there is room for; nothing was tested.
    OVERFLOW_BOXES: u32 = 5;
    /// The number of pairs to exclude, in a buffer, is beyond what there is room for; nothing was tested.
    OVERFLOW_FILTERS: u32 = 6;
    /// `Params::is_beyond`: the number of boxes is.
    BEYOND_BOXES: u32 = 1;
    /// `Params::is_beyond`: the number of pairs to exclude is.
    BEYOND_FILTERS: u32 = 2;
    /// In place of the beginning of a list of the filters: the list is empty.
    ABSENT: u32 = u32::MAX;
    /// `GroupRule::Any`.
    RULE_ANY: u32 = 0;
    /// `GroupRule::Both`.
    RULE_BOTH: u32 = 1;
    /// `Filters::NO_PARENT`.
    NO_PARENT: u32 = u32::MAX;
    /// Stands for `Filters::GLOBAL` among the numbers of worlds.
    WORLD_GLOBAL: u32 = u32::MAX;
}

/// The most candidates of a call on a software adapter. With as many no block has more than `MOST_BLOCK_TILES` tiles of the sweep, or more
/// than one of giants, so that Mesa's drivers end no loop over the tiles of a block.
pub const SOFTWARE_CANDIDATES: u64 = 8_000_000_000;

/// Boxes that a thread of the CPU engine takes at once.
pub const CHUNK: usize = 1 << 11;

/// The most pairs to exclude that may come from a buffer: they fit any binding.
pub(crate) const EXCLUDE_MOST: u32 = 1 << 24;
/// The turns that all loops of an invocation may take together on a software adapter: Mesa's drivers end them then.
pub(crate) const SOFTWARE_TURNS: u32 = 65_535;
/// The most boxes of one search or tree on a software adapter: a buffer is bound up to 128 MiB (`LP_MAX_TGSI_SHADER_BUFFER_SIZE`).
const SOFTWARE_BOXES: u32 = (1 << 27) / 24;
/// The turns of a search among as many listed pairs of a box (`Filters::check` sees to that), or half-spaces, as there can be.
const SEARCH_TURNS: u32 = MAX_ENTRIES.ilog2() + 1;

/// The turns of loops that an invocation takes at most for a tile of giants, where filters make two searches for each pair.
const GIANT_TURNS: u32 = {
    // The bounds of the row, the giants near it, the half-spaces among those, and their common bounds, twice.
    let near = GIANT_ROW + 4 * GIANT_GROUP + (1 + GIANT_GROUP) * SEARCH_TURNS;
    // For each box the giants that are near, and what filters say of those that it meets.
    let walk = GIANT_ROW * (1 + GIANT_GROUP * (2 + 2 * SEARCH_TURNS));
    // A scan of a tile, and sums of blocks. Pairs are counted again before they are written.
    33 + 1 + HIT_SUMS / 256 + 2 + near + 2 * walk + GIANT_ROW * GIANT_GROUP
};

/// Returns the bits of a sort key for so many boxes and worlds: as few as leave enough for cells, worlds and positions, since
/// each `BALLOT_BITS` are a pass of the sort.
pub(crate) const fn key_bits(box_count: u32, world_count: u32) -> u32 {
    if box_count <= KEY_BOXES && world_count <= KEY_WORLDS { KEY_BITS } else { LONG_KEY_BITS }
}

/// Counts the tiles of 256 by 256 tests that `small` has for this many boxes, at most `SMALL_MOST`.
pub(crate) const fn small_tiles(box_count: u32) -> u32 {
    let blocks = box_count.div_ceil(256);
    blocks * (blocks + 1) / 2
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
    // A cell along u and v needs a bit each; a box's cells along both are counted in 32 bits.
    assert!(
        MAX_WORLD_BITS + 2 + MIN_POSITION_BITS <= LONG_KEY_BITS
            && KEY_WORLDS.ilog2() + 2 + MIN_POSITION_BITS <= KEY_BITS
    );
    assert!(LONG_KEY_BITS - MIN_POSITION_BITS <= 2 * MAX_CELL_BITS && KEY_BITS < LONG_KEY_BITS);
    // Where ids repeat, one of u and v may have as few bits as that while the other has most.
    assert!(MAX_CELL_BITS + MIN_WRAP_BITS + MIN_POSITION_BITS <= KEY_BITS);
    // `5 * magnitude / 6` bits of a cell, of the numbers of boxes that have such keys.
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
    assert!(TURNED_PARTS <= MOST_PARTS && CAPSULE_PARTS <= MOST_PARTS);
    assert!(SOLID_ROUNDING_BITS == ROUNDING_BITS - FLAT_BITS / 2);
    assert!(TILE_QUADS == 256 * RUN_QUADS && 4 * RUN_QUADS == 32);
    assert!(MOST_BLOCK_TILES.is_power_of_two() && MOST_BLOCK_TILES * RUN_TURNS < SOFTWARE_TURNS);
    // A candidate takes a quarter of a quad, and an entry two quads beyond those of its candidates.
    assert!(
        SOFTWARE_CANDIDATES / 4 + 2 * MAX_ENTRIES as u64
            <= MOST_BLOCKS as u64 * MOST_BLOCK_TILES as u64 * TILE_QUADS as u64
    );
    // Groups of giants times tiles of rows: where there are g giants among n boxes, g n is at most SOFTWARE_CANDIDATES, there are
    // up to 4 n entries, and each of the two numbers is rounded up.
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
    // Turns of loops of one invocation of `order_sort`. Up to three long rows have a part in a tile. The workgroup's range of each has at
    // most all windows, of up to 76 turns each, most of them of a scan, and one for each of the invocation's elements in the window, of
    // which a short row has few. Beside those, a window takes one for each 1,024 elements of the row, and a row has fewer windows for each
    // workgroup the longer it is.
    assert!(
        3 * ((SOFTWARE_BOXES / ORDER_WINDOW + 1) * 76 + SOFTWARE_BOXES / 1024 + SOFTWARE_BOXES / (2 * ORDER_WINDOW))
            < SOFTWARE_TURNS
    );
    // Those of an invocation of `bin_scatter` that deals out the entries of a block.
    assert!(BIN_BLOCK / 256 * (MAX_CELLS + 64) < SOFTWARE_TURNS);
    // Created and persisting pairs of a tile are counted in one word, and the counts of a group's tiles are loaded by as many invocations.
    assert!(
        EVENT_TILE < 1 << 16
            && EVENT_GROUP <= 256
            && EVENT_TILE / EVENT_SPAN < 256
            && EVENT_SPAN.is_multiple_of(EVENT_RUN)
    );
    // The counts of 32 subgroups, with two digits to a word, lie where later the keys of a tile do; or those of 16 subgroups, of
    // larger digits, of which each invocation looks after a word.
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
    fn decimal_constants_are_the_powers_of_two_that_they_stand_for() {
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
