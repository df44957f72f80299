//! What each kernel costs, counted.
//!
//!     cargo run --release -p broadsweep-interpreter --example costs -- uniform 20000 32 [sites] [portable]
//!     cargo run --release -p broadsweep-interpreter --example costs -- table > benches/src/model/costs.csv
//!
//! A kind of scene, a number of boxes and a size of subgroups; with `sites`, also each load and store, and with `portable`
//! the sort that needs no subgroups. Or the table that predictions are made from, in two minutes. The first call is not
//! counted: it makes room for what the second needs.

use broadsweep::internals::kernels;
use broadsweep::{BroadPhase, Gpu, Options, PairOrder, SortVariant, wgpu};

use interpreter::counts::Cost;
use interpreter::{Interpreter, KernelCost, Report};
use laboratory::scenes::Kind;

/// The scenes of the table: boxes, and whether each is tested against every other.
const TABLE: [(u32, bool); 9] = [
    (300, true),
    (3_000, true),
    (9_000, true),
    (300, false),
    (3_000, false),
    (10_000, false),
    (100_000, false),
    (300_000, false),
    (1_000_000, false),
];

/// A call whose costs were counted.
struct Counted {
    report: Report,
    /// What the call found.
    found: broadsweep::Report,
}

/// Counts the costs of a call with subgroups of this size.
fn count(kind: Kind, n: u32, subgroup: usize, sort: SortVariant, is_small: bool) -> Counted {
    let interpreter = Interpreter::new(subgroup, wgpu::DeviceType::DiscreteGpu);
    for source in kernels::sources() {
        interpreter.set_text(source.label, source.text());
    }
    let (device, queue) = interpreter.device();
    let gpu = Gpu::from_device(device, queue).expect("the limits suffice").with_sort(Some(sort)).expect("subgroups");
    let all_pairs_up_to = if is_small { n } else { 0 };
    let options = Options { order: PairOrder::Sweep, all_pairs_up_to, ..Options::default() };
    let boxes = kind.generate(n as usize, 1);
    let mut broad_phase = BroadPhase::new(&gpu, options).expect("an engine");
    broad_phase.find_pairs(&boxes).expect("pairs");
    drop(interpreter.report());
    interpreter.count(true);
    let found = broad_phase.find_pairs(&boxes).expect("pairs").report.clone();
    Counted { report: interpreter.report(), found }
}

/// Prints the costs of each kernel as CSV.
fn print_table() {
    println!(
        "boxes,entries,candidates,pairs,kernel,dispatches,busy,workgroups,invocations,chain,waits,barriers,operations,\
         accesses,sectors,first_sectors,new_sectors,constants,bank_turns"
    );
    let print = |counted: &Counted, only: &dyn Fn(&str) -> bool| {
        let found = &counted.found;
        for (name, kernel) in counted.report.kernels.iter().filter(|(name, _)| only(name)) {
            let KernelCost { dispatches, busy, workgroups, invocations, chain, all_waits, barriers, .. } = kernel;
            let Cost { instructions, sectors, first_sectors, new_sectors, constants, bank_turns, .. } = kernel.total;
            println!(
                "{},{},{},{},{name},{dispatches},{busy},{workgroups},{invocations},{chain},{all_waits},{barriers},{},\
                 {instructions},{sectors},{first_sectors},{new_sectors},{constants},{bank_turns}",
                found.box_count, found.entry_count, found.candidate_count, found.pair_count, kernel.operations,
            );
        }
    };
    for (n, is_small) in TABLE {
        print(&count(Kind::Uniform, n, 32, SortVariant::Subgroup, is_small), &|_| true);
        if !is_small {
            // Of the other sort, what the first one has not.
            let only = |name: &str| matches!(name, "sort_scatter");
            print(&count(Kind::Uniform, n, 32, SortVariant::Portable, false), &only);
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["table"] {
        return print_table();
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
    let Counted { report, found } = count(kind, n, subgroup, sort, false);

    println!("{} boxes, {} pairs, subgroups of {subgroup}", found.box_count, found.pair_count);
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
        for ((what, line), cost) in kernel.sites.iter().filter(|_| has("sites")) {
            row("", 0, 0, 0, 0, cost);
            println!("    {what}: {line}");
        }
    }
    let sum = |of: fn(&KernelCost) -> u64| report.kernels.values().map(of).sum();
    row("all", sum(|of| of.dispatches), sum(|of| of.workgroups), 0, sum(|of| of.operations), &all);
}
