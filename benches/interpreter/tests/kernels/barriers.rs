//! Whether the interpreter sees what is wrong: each barrier of each kernel is left out in turn.

use interpreter::Mutation;

use super::*;

/// Barriers that are not missed: kernel, number in the order of functions and statements, and why.
const NOT_MISSED: &[(&str, usize, &str)] = &[];

/// A search in which kernels run.
struct Case {
    options: Options,
    boxes: Vec<Aabb>,
    filters: Filters,
    variant: SortVariant,
}

fn cases() -> Vec<Case> {
    let case = |options, boxes: Vec<Aabb>, is_filtered: bool, variant| {
        let filters = if is_filtered { filters(boxes.len()) } else { Filters::default() };
        Case { options, boxes, filters, variant }
    };
    let short = Options { memory_budget: Some(least_budget(700, SWEEP.order)), ..SWEEP };
    let few = Options { all_pairs_up_to: u32::MAX, ..SWEEP };
    vec![
        case(SWEEP, Kind::Uniform.generate(3000, 1), false, SortVariant::Subgroup),
        case(SWEEP, Kind::Infinite.generate(1500, 1), true, SortVariant::Wide),
        case(few, Kind::Clusters.generate(600, 1), true, SortVariant::Wide),
        case(SWEEP, Kind::Clusters.generate(3000, 1), false, SortVariant::Portable),
        case(SWEEP, boxes_in_many_cells(1500), false, SortVariant::Wide),
        case(short, Kind::Identical.generate(700, 1), false, SortVariant::Wide),
    ]
}

/// Runs a case with a kernel that was changed, and returns what was found in that kernel.
fn findings(case: &Case, kernel: &str, mutation: Mutation) -> Report {
    let (interpreter, gpu) = device(8, Some(case.variant));
    interpreter.mutate(kernel, mutation);
    let mut broad_phase = BroadPhase::new(&gpu, case.options).unwrap();
    broad_phase.set_filters(case.filters.clone()).unwrap();
    // What comes out is not looked at: a race is known by itself.
    let _ = broad_phase.find_pairs(&case.boxes);
    interpreter.report()
}

#[test]
fn every_barrier_is_missed_when_it_is_gone() {
    let cases = cases();
    let ran: Vec<_> = cases.iter().map(|case| findings(case, "", Mutation::RemoveBarrier(0)).ran).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for source in kernels::sources() {
        let barriers = Mutation::barriers(&source.module().unwrap());
        for number in 0..barriers {
            count += 1;
            let is_seen = cases.iter().zip(&ran).filter(|(_, ran)| ran.contains(source.label)).any(|(case, _)| {
                let report = findings(case, source.label, Mutation::RemoveBarrier(number));
                report.findings.keys().any(|finding| finding.kernel == source.label && !is_known(finding))
            });
            let is_expected = !NOT_MISSED.iter().any(|&(kernel, at, _)| (kernel, at) == (source.label, number));
            if is_seen != is_expected {
                wrong.push((source.label, number, is_seen));
                println!(
                    "{} {number}:\n{}",
                    source.label,
                    Mutation::around(&source.module().unwrap(), number, &source.text())
                );
            }
        }
        assert!(ran.iter().any(|ran| ran.contains(source.label)), "no case runs {}", source.label);
    }
    println!("{count} barriers, {} of them not missed", NOT_MISSED.len());
    assert!(wrong.is_empty(), "{count} barriers; kernel, number, whether it was missed: {wrong:#?}");
}
