//! Counts the cost of each kernel.
//!
//!     cargo run --release -p broadsweep-interpreter --example costs -- \
//!         uniform 20000 32 [sites] [portable|queries] [FILTER...]
//!     cargo run --release -p broadsweep-interpreter --example costs -- table > benches/src/model/costs.csv
//!
//! Arguments are a kind of scene, the count of boxes and the size of subgroups. With `sites`, also counts each load and
//! store. `portable` takes the sort that needs no subgroups, and `queries` the kernels of a tree and its queries. Names
//! of filters (groups, bodies, fixed, sleeping, sets, worlds, lists, half-spaces, owner) give the boxes these filters.
//! `table` prints the table for predictions, in two and a half minutes. The first call is not counted: it allocates the
//! memory for the second.

#[path = "costs/count.rs"]
mod count;

use broadsweep::device::SortVariant;
use interpreter::counts::Cost;
use interpreter::{KernelCost, Report};
use laboratory::scenes::Kind;

use count::{COLUMNS, Counted, FILTERS, TABLE, count_filtered, count_queries, rows};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["table"] {
        println!("{COLUMNS}");
        return TABLE.into_iter().flat_map(|(n, is_small)| rows(n, is_small)).for_each(|row| println!("{row}"));
    }
    let [kind, n, subgroup, rest @ ..] = &arguments[..] else {
        return eprintln!("a kind of scene, a number of boxes and a size of subgroups, please");
    };
    let Some(kind) = Kind::ALL.into_iter().find(|known| known.name() == kind) else {
        return eprintln!("there is no kind of scene called {kind}");
    };
    let (Ok(n), Ok(subgroup)) = (n.parse(), subgroup.parse()) else {
        return eprintln!("{n} or {subgroup} is no number");
    };
    let has = |wanted: &str| rest.iter().any(|word| word == wanted);
    let sort = if has("portable") { SortVariant::Portable } else { SortVariant::Subgroup };
    if has("queries") {
        for (what, report) in count_queries(kind, n, subgroup) {
            println!("\n{what}");
            print(&report, has("sites"));
        }
        return;
    }
    let filters: Vec<_> = FILTERS.iter().filter(|(name, _)| has(name)).map(|(_, set)| *set).collect();
    let Counted { report, found } = count_filtered(kind, n, subgroup, sort, false, &filters);

    println!("{} boxes, {} pairs, subgroups of {subgroup}", found.box_count, found.pair_count);
    print(&report, has("sites"));
}

/// Prints the cost of each kernel.
fn print(report: &Report, by_site: bool) {
    let row = |name: &str, dispatches: u64, groups: u64, waits: u64, operations: u64, cost: &Cost| {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        println!(
            "{name:<16} {dispatches:>3} {groups:>8} {waits:>7} {:>8.3} {:>10.3} {:>10.3} {:>10.3} {:>10.3} {:>6.1} {:>10}",
            operations as f64 / 1e6,
            megabytes(cost.bytes),
            megabytes(32 * cost.sectors),
            megabytes(32 * cost.first_sectors),
            megabytes(32 * cost.new_sectors),
            cost.lanes as f64 / cost.instructions.max(1) as f64,
            cost.bank_turns,
        );
    };
    println!(
        "{:<16} {:>3} {:>8} {:>7} {:>8} {:>10} {:>10} {:>10} {:>10} {:>6} {:>10}",
        "kernel", "", "groups", "waits", "Mops", "useful MB", "sector MB", "cached MB", "new MB", "lanes", "bank turns"
    );
    let mut all = Cost::default();
    for (name, kernel) in &report.kernels {
        row(name, kernel.dispatches, kernel.workgroups, kernel.waits, kernel.operations, &kernel.total);
        all.add(&kernel.total);
        for ((what, line), cost) in kernel.sites.iter().filter(|_| by_site) {
            row("", 0, 0, 0, 0, cost);
            println!("    {what}: {line}");
        }
    }
    let sum = |of: fn(&KernelCost) -> u64| report.kernels.values().map(of).sum();
    row("all", sum(|of| of.dispatches), sum(|of| of.workgroups), 0, sum(|of| of.operations), &all);
}
