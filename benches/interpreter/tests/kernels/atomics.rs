//! Whether the interpreter sees what is wrong: each atomic of each kernel is done as if it were none, and neighbouring
//! stores are done in the other order.

use interpreter::{Compared, Mutation};

use super::*;

/// Runs mutants of all kernels beside the kernels, in all cases, and returns what was seen of each.
fn compared(mutants: &[(String, Mutation)]) -> Vec<Compared> {
    let mut seen = vec![Compared::default(); mutants.len()];
    for case in cases() {
        let open: Vec<usize> = (0..mutants.len()).filter(|&k| !seen[k].is_caught()).collect();
        let (interpreter, gpu) = device(8, Some(case.variant));
        let mut broad_phase = BroadPhase::new(&gpu, case.options).unwrap();
        broad_phase.set_filters(case.filters).unwrap();
        interpreter.compare(open.iter().map(|&k| mutants[k].clone()));
        broad_phase.find_pairs(&case.boxes).unwrap();
        for (k, compared) in open.into_iter().zip(interpreter.compared()) {
            seen[k].dispatches += compared.dispatches;
            seen[k].differs |= compared.differs;
            seen[k].findings.extend(compared.findings);
        }
    }
    seen
}

/// Lists mutants of all kernels.
fn mutants(of: impl Fn(&naga::Module) -> Vec<Mutation>) -> Vec<(String, Mutation)> {
    let of_kernel = |source: &'static broadsweep::internals::gpu::kernel::Source| {
        of(&source.module().unwrap()).into_iter().map(|mutation| (source.label.to_owned(), mutation))
    };
    kernels::sources().flat_map(of_kernel).collect()
}

fn describe((kernel, mutation): &(String, Mutation)) -> String {
    let source = kernels::sources().find(|source| source.label == kernel).unwrap();
    mutation.describe(&source.module().unwrap(), &source.text())
}

/// An invocation stores what nobody else touches between two barriers.
const ALONE: &str = "needless: between two barriers, one invocation alone touches the word";
/// Two stores to two elements, or by two pointers.
const ELEMENTS: &str = "needless: two places wherever both are stored, and values that were loaded before";
/// What the second store's value would be if the first had been done is what it is.
const NOT_TAKEN: &str = "no case makes the first store change what the second one reads";

/// Atomics that are not missed: kernel, number in the order of functions and statements, and why.
const ATOMICS_NOT_MISSED: &[(&str, usize, &str)] = &[
    ("bin_count", 3, ALONE),
    ("bin_count", 4, ALONE),
    ("bin_scatter", 0, ALONE),
    ("sort_ballot", 0, ALONE),
    ("small_test", 1, ALONE),
];

/// Stores whose order is not missed, though the source does not show at once that it cannot be seen.
const STORES_NOT_MISSED: &[(&str, usize, &str)] = &[
    ("prepare_boxes", 0, ELEMENTS),
    ("prepare_boxes", 1, ELEMENTS),
    ("frame_choose", 0, ELEMENTS),
    ("frame_choose", 1, ELEMENTS),
    ("frame_choose", 2, ELEMENTS),
    ("frame_choose", 6, NOT_TAKEN),
    ("frame_choose", 11, NOT_TAKEN),
    ("frame_choose", 32, ELEMENTS),
    ("bin_count", 5, ELEMENTS),
    ("sweep_test", 9, ELEMENTS),
    ("giants_test", 1, ELEMENTS),
    ("emit_again", 9, ELEMENTS),
    ("emit_giants", 1, ELEMENTS),
    ("small_test", 2, ELEMENTS),
    ("small_emit", 11, "no case has a list of few boxes that is longer than its memory"),
];

/// Compares what was not missed with what is known not to be.
fn assert_missed(
    mutants: &[(String, Mutation)],
    is_missed: impl Fn(&(String, Mutation), &Compared) -> bool,
    known: &[(&str, usize, &str)],
) {
    let (seen, mut wrong) = (compared(mutants), 0);
    for (mutant, seen) in mutants.iter().zip(&seen) {
        assert!(seen.dispatches > 0, "no case runs {}", mutant.0);
        let (Mutation::WeakenAtomic(number) | Mutation::SwapStores(number)) = mutant.1 else {
            unreachable!("atomics and stores")
        };
        let is_expected = !known.iter().any(|&(kernel, at, _)| kernel == mutant.0 && at == number);
        if is_missed(mutant, seen) != is_expected {
            wrong += 1;
            println!("{} {number}, missed: {}: {}", mutant.0, !is_expected, describe(mutant));
        }
    }
    println!("{} of {} missed", mutants.len() - known.len(), mutants.len());
    assert!(wrong == 0, "{wrong} of {} are not as they are listed", mutants.len());
}

#[test]
fn every_atomic_is_missed_when_it_is_none() {
    let is_race = |_: &_, seen: &Compared| seen.findings.iter().any(|finding| finding.fault == Fault::Race);
    assert_missed(&mutants(Mutation::atomics), is_race, ATOMICS_NOT_MISSED);
}

#[test]
fn the_order_of_stores_is_missed_where_it_can_be_seen() {
    let is_apart = |(kernel, mutation): &(String, Mutation)| {
        let source = kernels::sources().find(|source| source.label == kernel).unwrap();
        mutation.is_of_stores_apart(&source.module().unwrap())
    };
    let (apart, others): (Vec<_>, Vec<_>) = mutants(Mutation::stores).into_iter().partition(is_apart);
    println!("{} swaps of stores to different places", apart.len());
    assert!(
        compared(&apart).iter().all(|seen| !seen.is_caught()),
        "no order of stores to different places can be seen"
    );
    assert_missed(&others, |_, seen| seen.is_caught(), STORES_NOT_MISSED);
}
