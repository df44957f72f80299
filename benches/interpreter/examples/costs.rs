//! What each kernel costs, counted.
//!
//!     cargo run --release -p broadsweep-interpreter --example costs -- uniform 20000 32 [sites] [portable]
//!
//! A kind of scene, a number of boxes and a size of subgroups; with `sites`, also each load and store, and
//! with `portable` the sort that needs no subgroups. The first call is
//! not counted: it makes room for what the second needs.

use broadsweep::internals::kernels;
use broadsweep::{BroadPhase, Gpu, Options, PairOrder, SortVariant, wgpu};
use interpreter::Interpreter;
use interpreter::counts::Cost;
use laboratory::scenes::Kind;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, n, subgroup, rest @ ..] = &arguments[..] else {
        return eprintln!("a kind of scene, a number of boxes and a size of subgroups, please");
    };
    let Some(kind) = Kind::ALL.into_iter().find(|known| known.name() == kind) else {
        return eprintln!("there is no kind of scene called {kind}");
    };
    let (Ok(n), Ok(subgroup)) = (n.parse(), subgroup.parse()) else {
        return eprintln!("{n} or {subgroup} is no number");
    };
    let interpreter = Interpreter::new(subgroup, wgpu::DeviceType::DiscreteGpu);
    for source in kernels::sources() {
        interpreter.set_text(source.label, source.text());
    }
    let (device, queue) = interpreter.device();
    let has = |wanted: &str| rest.iter().any(|word| word == wanted);
    let sort = if has("portable") { SortVariant::Portable } else { SortVariant::Subgroup };
    let gpu = Gpu::from_device(device, queue).expect("the limits suffice").with_sort(Some(sort)).expect("subgroups");
    let options = Options { order: PairOrder::Sweep, all_pairs_up_to: 0, ..Options::default() };
    let boxes = kind.generate(n, 1);
    let mut broad_phase = BroadPhase::new(&gpu, options).expect("an engine");
    let pairs = broad_phase.find_pairs(&boxes).expect("pairs").pairs.len();
    drop(interpreter.report());
    interpreter.count(true);
    broad_phase.find_pairs(&boxes).expect("pairs");
    let report = interpreter.report();

    println!("{} boxes, {pairs} pairs, subgroups of {subgroup}", boxes.len());
    let row = |name: &str, dispatches: u64, groups: u64, waits: u64, cost: &Cost| {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        println!(
            "{name:<16} {dispatches:>3} {groups:>8} {waits:>7} {:>10.3} {:>10.3} {:>10.3} {:>6.1} {:>10}",
            megabytes(cost.bytes),
            megabytes(32 * cost.sectors),
            megabytes(32 * cost.first_sectors),
            cost.lanes as f64 / cost.instructions.max(1) as f64,
            cost.bank_turns,
        );
    };
    println!(
        "{:<16} {:>3} {:>8} {:>7} {:>10} {:>10} {:>10} {:>6} {:>10}",
        "kernel", "", "groups", "waits", "useful MB", "sector MB", "cached MB", "lanes", "bank turns"
    );
    let mut all = Cost::default();
    for (name, kernel) in &report.kernels {
        row(name, kernel.dispatches, kernel.workgroups, kernel.waits, &kernel.total);
        all.add(&kernel.total);
        for ((what, line), cost) in kernel.sites.iter().filter(|_| has("sites")) {
            row("", 0, 0, 0, cost);
            println!("    {what}: {line}");
        }
    }
    let dispatches = report.kernels.values().map(|kernel| kernel.dispatches).sum();
    row("all", dispatches, report.kernels.values().map(|kernel| kernel.workgroups).sum(), 0, &all);
}
