//! Whether the interpreter sees what is wrong: each barrier of each kernel is left out in turn.

use interpreter::Mutation;

use super::*;

/// Runs a case, and returns what was found.
fn findings(case: &Case, (interpreter, gpu): &(Interpreter, Gpu)) -> Report {
    // What comes out is not looked at: a race is known by itself.
    let _ = case.find(gpu);
    interpreter.report()
}

#[test]
fn every_barrier_is_missed_when_it_is_gone() {
    let cases = cases();
    let devices: Vec<_> = cases.iter().map(|case| device(8, Some(case.variant))).collect();
    let ran: Vec<_> = cases.iter().zip(&devices).map(|(case, device)| findings(case, device).ran).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for source in kernels::sources() {
        let module = source.module().unwrap();
        for (number, mutation) in Mutation::barriers(&module).into_iter().enumerate() {
            count += 1;
            let running = cases.iter().zip(&devices).zip(&ran).filter(|(_, ran)| ran.contains(source.label));
            let is_seen = running.into_iter().any(|((case, device), _)| {
                device.0.mutate(source.label, mutation);
                let report = findings(case, device);
                device.0.mutate_none();
                report.findings.keys().any(|finding| finding.kernel == source.label && !is_known(finding))
            });
            if !is_seen {
                wrong.push((source.label, number));
                println!("{} {number}: {}", source.label, mutation.describe(&module, &source.text()));
            }
        }
        assert!(ran.iter().any(|ran| ran.contains(source.label)), "no case runs {}", source.label);
    }
    println!("{count} barriers");
    assert!(wrong.is_empty(), "{count} barriers; kernel and number of those that are not missed: {wrong:#?}");
}
