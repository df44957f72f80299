//! The table of counted costs, from which times are predicted.

#[path = "../../examples/costs/count.rs"]
mod count;

use count::{COLUMNS, TABLE, rows};

#[test]
fn the_table_of_costs_is_that_of_the_kernels() {
    let table = include_str!("../../../src/model/costs.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some(COLUMNS));
    let lines: Vec<&str> = lines.collect();
    // Only the small scenes: the whole table takes minutes.
    for (n, is_small) in TABLE.into_iter().filter(|&(n, _)| n <= 3000) {
        for row in rows(n, is_small) {
            assert!(
                lines.contains(&row.as_str()),
                "{row} is not in benches/src/model/costs.csv: kernels have changed, or what is counted. Make it again: \
                 cargo run --release -p broadsweep-interpreter --example costs -- table > benches/src/model/costs.csv"
            );
        }
    }
}
