// Rows of boxes that lie near each other: GIANT_ROW entries in a row, in sorted order, and behind them GIANT_ROW giants in a row.
// Shared by the kernels that join giants with them, which bind counts, entries and giants.

// A box of a row.
struct Item {
    index: u32,
    is_there: bool,           // an entry stands for its box in the first cell of the box alone
}

// Counts the rows of entries, behind which those of giants come.
fn entry_row_count() -> u32 {
    return div_ceil(counts.entry_count, GIANT_ROW);
}

fn row_count() -> u32 {
    return rows_of(counts.entry_count, counts.giant_count);
}

// Returns box k of a row. One that is not there has the index of some box all the same.
fn item_of(row: u32, k: u32) -> Item {
    let entry_rows = entry_row_count();
    if row < entry_rows {
        let at = row * GIANT_ROW + k;
        let entry = entries[min(at, counts.entry_count - 1u)];
        let first = ENTRY_FIRST_U | ENTRY_FIRST_V;
        return Item(entry & ENTRY_BOX, at < counts.entry_count && (entry & first) == first);
    }
    let at = (row - entry_rows) * GIANT_ROW + k;
    return Item(giants[min(at, counts.giant_count - 1u)], at < counts.giant_count);
}
