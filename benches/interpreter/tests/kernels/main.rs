//! The library on the interpreter: its pairs are right, no kernel does anything that a GPU might do otherwise, and
//! every deliberate removal from a kernel is noticed.

mod arithmetic;
mod costs;
#[path = "../../../../tests/common/doubles.rs"]
mod doubles;
mod faults;
mod flow;
mod inputs;
mod levels;
mod memory;
mod mutants;
mod needless;
#[path = "../../../../tests/common/numbers.rs"]
mod numbers;
mod points;
mod searches;
mod steps;
#[path = "../../../../tests/common/sums.rs"]
mod sums;
mod tree_queries;
mod trees;

use broadsweep::device::SortVariant;
use broadsweep::internals::{brute_force, kernels};
use broadsweep::{Aabb, BroadPhase, CellSize, Filters, Gpu, Options, PairOrder, cpu};
use interpreter::memory::Fault;
use interpreter::{Finding, Interpreter, Order, Report};
use laboratory::scenes::Kind;

use inputs::{filters, spheres};
use searches::*;

/// Returns whether tests may take a long time, by BROADSWEEP_LONG=1. Without it, the longest tests leave out
/// repetitions.
fn is_long() -> bool {
    std::env::var("BROADSWEEP_LONG").is_ok_and(|value| value == "1")
}

/// The reason why the order of several invocations does not matter.
const IN_ANY_ORDER: &str = "a list that no window cuts is put together in any order, and sorted";

/// The known findings: kernel, fault, access, and the reason to accept it.
const KNOWN: &[(&str, Fault, &str, &str)] = &[
    ("sweep_test", Fault::Unwritten, "load of footprints", "four at once; those of no entry are no candidates"),
    ("emit_again", Fault::Unwritten, "load of footprints", "four at once; those of no entry are no candidates"),
    ("sort_count", Fault::Unwritten, "load of keys_in", "four at once; those behind the end are counted apart"),
    ("sort_scatter", Fault::Unwritten, "load of keys_in", "four at once; those behind the end are left out"),
    ("sort_scatter", Fault::Unwritten, "load of values_in", "four at once; those behind the end are left out"),
    ("order_scatter", Fault::Race, "atomic on offsets", "a row is put together in any order, and sorted"),
    ("order_sort", Fault::Race, "atomic on long_count", "rows are sorted in any order"),
    (
        "events_find",
        Fault::Race,
        "atomic on event_marks",
        "a bit is counted by the first that sets it, whoever that is",
    ),
    ("query_cross", Fault::Race, "atomic on found_together", IN_ANY_ORDER),
    ("query_touch", Fault::Race, "atomic on found_together", IN_ANY_ORDER),
    ("query_sphere", Fault::Race, "atomic on found_together", IN_ANY_ORDER),
];

/// Sizes of subgroups that GPUs have.
const SUBGROUPS: [usize; 4] = [8, 16, 32, 64];

fn is_known(finding: &Finding) -> bool {
    let is = |&(kernel, fault, what, _): &(&str, Fault, &str, &str)| {
        finding.kernel == kernel && finding.fault == fault && finding.what == what
    };
    KNOWN.iter().any(is)
}

/// Panics with all findings that are not known.
fn assert_clean(report: &Report, context: &str) {
    let found: Vec<_> = report.findings.iter().filter(|(finding, _)| !is_known(finding)).collect();
    assert!(found.is_empty(), "{context}: {found:#?}");
}

/// Searches on a device of the interpreter, and compares the pairs.
fn check((interpreter, gpu): &(Interpreter, Gpu), options: Options, boxes: &[Aabb], filters: &Filters, context: &str) {
    let (boxes, filters) = (boxes.to_vec(), filters.clone());
    let case = Case { options, boxes, filters, variant: SortVariant::Portable, what: What::Search };
    let (found, expected) = (case.find(gpu).unwrap(), case.expected());
    if case.filters == Filters::default() {
        assert_eq!(brute_force::find_pairs(&case.boxes).len(), expected.len());
    }
    assert_clean(&interpreter.report(), context);
    assert!(found == expected, "{context}: {} pairs instead of {}", found.len(), expected.len());
}
