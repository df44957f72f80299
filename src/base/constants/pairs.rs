//! Constants of the pairs: sweep, giants, lists and events.
//!
//! A *rank* is the place of an entry in sorted order. A *quad* is four consecutive ranks. The *path* lists, entry by
//! entry, the quads that hold candidates of the entry. A *run* is a few quads of the path.

shared_constants! {
    // ---- sweep, giants, emit ----

    /// Giants follow the entries at a multiple of this count, since buffers are bound at multiples of 256 bytes.
    ENTRY_ALIGNMENT: u32 = 64;
    /// The path stores the count of quads before every entry whose rank is a multiple of this number.
    ENTRY_STRIDE: u32 = 8;
    /// Entries per section of the path. A workgroup of `rank_ends` processes a section, and counts its quads in 64
    /// bits.
    PATH_SECTION: u32 = 512;
    /// Consecutive sections in a group, whose quads and candidates are summed.
    PATH_GROUP: u32 = 64;
    /// The most entries.
    MAX_ENTRIES: u32 = 1 << 25;
    /// Bits of a word of `stretches` that hold the rank at which the candidates of the entry end. The bits above count
    /// the unproven candidates, which are the last ones by rank. Since keys are rounded, these candidates may begin
    /// after the entry ends.
    END_BITS: u32 = 26;
    /// The largest count of unproven candidates in a word of `stretches`. This value means that all candidates are
    /// unproven.
    ALL_UNPROVEN: u32 = (1 << (32 - END_BITS)) - 1;
    /// The first step of the search for the end of an entry. The search begins after the quads of keys that are already
    /// loaded, and doubles the step each time. A lower value suits entries with few candidates, a higher value entries
    /// with many.
    FIRST_REACH: u32 = 4;
    /// Quads of the path per run. An invocation of `sweep_test` tests a run; the results are the bits of a u32.
    RUN_QUADS: u32 = 8;
    /// The u32 count of a run in memory.
    RUN_U32_COUNT: u32 = 3;
    /// Bits of a rank in the word of a run. The bits above belong to the quads of the run after its first quad. A
    /// bit is set if the stretch of an entry begins with this quad.
    RANK_BITS: u32 = 25;
    /// log2 of `TILE_QUADS`.
    TILE_QUADS_BITS: u32 = 11;
    /// Quads per tile of the sweep: 256 runs.
    TILE_QUADS: u32 = 1 << TILE_QUADS_BITS;
    /// Consecutive giants in a group. An invocation tests a group against the bounds of a row, and then against its
    /// boxes. Each giant has a bit in a word; the bits above hold the pair count.
    GIANT_GROUP: u32 = 16;
    /// Consecutive entries, or consecutive giants, in a row.
    GIANT_ROW: u32 = 32;
    /// The most blocks of tiles of the sweep. A workgroup tests a block, and counts the pairs of the block.
    MOST_BLOCKS: u32 = 65_535;
    /// The most blocks of tiles of giants. A workgroup tests a block, and counts the pairs of the block.
    MOST_GIANT_BLOCKS: u32 = 1 << 19;
    /// Consecutive blocks whose pair counts are also summed.
    SUM_BLOCKS: u32 = 256;
    /// The most sums of `SUM_BLOCKS` blocks.
    HIT_SUMS: u32 = (MOST_GIANT_BLOCKS + MOST_BLOCKS + 1) / SUM_BLOCKS;
    /// A bound of the loop turns of `sweep_test` per run. It counts the run, its quads, its survivors, and per survivor
    /// the longest search among listed pairs or half-spaces. The sum is doubled for safety.
    RUN_TURNS: u32 = 2 * (2 + RUN_QUADS + 32 + 32 * (1 + 33));
    /// The most tiles per block of the sweep, a power of two. Blocks have more tiles only if there would be more than
    /// `MOST_BLOCKS` blocks. An invocation of `sweep_test` tests a run of each tile. Mesa's software drivers end the
    /// loops of 8 or 16 invocations after 65,535 turns in total, and other drivers end long dispatches.
    MOST_BLOCK_TILES: u32 = 16;
    /// Workgroups of `sweep_test` that occupy a GPU: about the count that the largest GPU runs at once. If there are
    /// fewer blocks, blocks have fewer tiles.
    SWEEP_GROUPS: u32 = 1024;
    /// The most workgroups of a dispatch along x: WebGPU's limit. A larger dispatch has several rows along y.
    MAX_GROUPS_X: u32 = 65_535;

    // ---- small ----

    /// Rows in a group of rows. A workgroup of `small_emit` writes one group. A tile of `small_test` has 256 rows, so
    /// eight groups: an invocation tests a word of columns against one row of each group.
    SMALL_ROWS: u32 = 32;
    /// The u32 count of a row in a tile of `small_test`. A tile has 256 by 256 tests.
    SMALL_LINES: u32 = 8;
    /// The largest effective `Options::all_pairs_up_to`. The counts of `small_test`, for 128 × 129 / 2 tiles, must fit
    /// `block_hits`, and its pair count 32 bits.
    SMALL_MOST: u32 = 1 << 15;

    // ---- canonical order ----

    /// Rows whose sizes a workgroup adds up.
    ORDER_ROWS: u32 = 1024;
    /// Rows of `ORDER_ROWS` per invocation.
    ORDER_ROW_RUN: u32 = ORDER_ROWS / 256;
    /// Elements of rows that a workgroup sorts.
    ORDER_TILE: u32 = 512;
    /// The most elements of a short row. The place of an element in a short row is the count of smaller elements.
    ORDER_SHORT: u32 = 256;
    /// The most long rows that overlap a tile: two rows that extend beyond the tile, and the rows between.
    ORDER_LONG_ROWS: u32 = (ORDER_TILE - 2) / (ORDER_SHORT + 1) + 2;
    /// Boxes per window of a long row. Each box has a bit in workgroup memory.
    ORDER_WINDOW: u32 = 32 * 1024;

    // ---- events ----

    /// Pairs per tile: a workgroup compares them with another list, or selects from them.
    EVENT_TILE: u32 = 1024;
    /// Pairs per span. Before pairs are compared, the first pair of each span is searched for in the other list.
    EVENT_SPAN: u32 = 256;
    /// Consecutive tiles in a group, whose counts are summed.
    EVENT_GROUP: u32 = 64;
    /// Consecutive tiles of the last list for which a workgroup counts, in its own memory, the pairs that also exist in
    /// this step. The pairs of a tile of this step are mostly in two tiles of the last list, so four suffice.
    EVENT_NEAR: u32 = 4;
    /// The u32 count of event totals: the count of each kind of event, and the reason if the step is discarded.
    EVENT_TOTALS: u32 = 4;
    /// The u32 count before the list of generations in the buffer of the last step: the counts of pairs and of
    /// generations.
    EVENT_GENERATIONS: u32 = 2;
    /// Consecutive pairs per invocation of a workgroup of 256.
    EVENT_RUN: u32 = EVENT_TILE / 256;
    /// Marks a created pair, which has no place in the last list, and a new box, which has no index in the last step.
    EVENT_CREATED: u32 = u32::MAX;
}
