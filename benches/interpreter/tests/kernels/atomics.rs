//! Whether the interpreter sees what is wrong: each atomic of each kernel is done as if it were none, and neighbouring
//! stores are done in the other order.

use std::collections::BTreeMap;

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

#[test]
fn every_atomic_is_missed_when_it_is_none() {
    let mutants = mutants(Mutation::atomics);
    let seen = compared(&mutants);
    for (m, s) in mutants.iter().zip(&seen) {
        let race = s.findings.iter().any(|f| f.fault == Fault::Race);
        println!("{} {:?} race {race} differs {} d {} {}", m.0, m.1, s.differs, s.dispatches, describe(m));
    }
}

#[test]
fn stores() {
    let mutants = mutants(Mutation::stores);
    let seen = compared(&mutants);
    let mut n: BTreeMap<(bool, bool), u32> = BTreeMap::new();
    for (m, s) in mutants.iter().zip(&seen) {
        let source = kernels::sources().find(|source| source.label == m.0).unwrap();
        let apart = m.1.is_of_stores_apart(&source.module().unwrap());
        *n.entry((apart, s.is_caught())).or_default() += 1;
        if apart == s.is_caught() {
            println!(
                "{} {:?} apart {apart} differs {} {:?} d {} {}",
                m.0,
                m.1,
                s.differs,
                s.findings,
                s.dispatches,
                describe(m)
            );
        }
    }
    println!("{n:?}");
}
