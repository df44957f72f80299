//! Changes the logic of kernels, one change at a time, and reports which changes are noticed.
//!
//!     cargo run --release -p broadsweep-interpreter --features mutants --example mutants -- \
//!         [--seed N] [--count N] [--kernel K] [--all]
//!
//! Mutants are drawn evenly over kernels, or over the changes of one kernel. Each runs beside its kernel in some
//! searches, on the memory of the kernel. If its output differs, the whole search runs with it. The mutant is then
//! caught by a fault (or a failed call), by wrong pairs, or only by the outputs of its kernel: a test that compares the
//! kernel with its mirror on such inputs shows the difference. A mutant that no search catches runs beside its kernel
//! once more, alone, on the numbers of the tests of stages. A mutant that is still not caught is listed, with the
//! reason if there is one: it is equal to its kernel, or needs inputs that only the tests of stages have.

#[path = "mutants/alone.rs"]
mod alone;
#[path = "mutants/cases.rs"]
mod cases;
#[path = "mutants/equal.rs"]
mod equal;
#[path = "../../../tests/common/filter_cases.rs"]
mod filter_cases;
#[path = "../tests/kernels/inputs.rs"]
mod inputs;
#[path = "mutants/judge.rs"]
mod judge;
#[path = "../tests/kernels/levels.rs"]
mod levels;
#[path = "../tests/kernels/needless.rs"]
mod needless;
#[path = "../../../tests/common/numbers.rs"]
mod numbers;
#[path = "../tests/kernels/points.rs"]
mod points;
#[path = "../tests/kernels/searches.rs"]
mod searches;
#[path = "../tests/kernels/steps.rs"]
mod steps;
#[path = "../tests/kernels/tree_queries.rs"]
mod tree_queries;

use std::collections::BTreeMap;

use broadsweep::internals::kernels;
use interpreter::Mutation;

use equal::Reason;
use judge::{Mutant, Verdict};

/// The arguments.
struct Arguments {
    seed: u64,
    count: usize,
    kernel: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { seed: 1, count: 100, kernel: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} takes a value"));
        match word.as_str() {
            "--seed" => arguments.seed = value()?.parse().map_err(|_| "a seed is a number")?,
            "--count" => arguments.count = value()?.parse().map_err(|_| "a count is a number")?,
            "--kernel" => arguments.kernel = Some(value()?),
            "--all" => arguments.count = usize::MAX,
            _ => return Err(format!("{word} is none of --seed, --count, --kernel and --all")),
        }
    }
    Ok(arguments)
}

/// Draws mutants: for each kernel in turn, a valid one that was not drawn yet.
fn draw(arguments: &Arguments) -> Vec<Mutant> {
    let mut random = arguments.seed;
    // The generator of Steele, Lea and Flood 2014.
    let mut below = |n: usize| {
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % n as u64) as usize
    };
    let sources =
        kernels::sources().filter(|source| arguments.kernel.as_deref().is_none_or(|kernel| kernel == source.label));
    let mut open: Vec<_> = sources
        .map(|source| {
            let module = source.module().expect("a valid kernel");
            let mutations = Mutation::logic(&module);
            (source, module, mutations)
        })
        .collect();
    // Otherwise the first mutants of the list would be drawn more often than the last.
    for k in (1..open.len()).rev() {
        open.swap(k, below(k + 1));
    }
    let (mut drawn, mut next) = (Vec::new(), 0);
    while drawn.len() < arguments.count && open.iter().any(|(.., mutations)| !mutations.is_empty()) {
        let turn = next % open.len();
        let (source, module, mutations) = &mut open[turn];
        next += 1;
        while !mutations.is_empty() {
            let mutation = mutations.swap_remove(below(mutations.len()));
            if mutation.is_valid(module) {
                let text = mutation.describe(module, &source.text());
                drawn.push(Mutant { kernel: source.label, mutation, text, verdict: Verdict::Survived });
                break;
            }
        }
    }
    drawn
}

fn main() -> Result<(), String> {
    let arguments = arguments()?;
    let kernels: Vec<_> = kernels::sources().map(|source| (source.label, source.text())).collect();
    if let Some(stale) = equal::stale(&kernels) {
        return Err(stale);
    }
    let mut mutants = draw(&arguments);
    if mutants.is_empty() {
        return Err("there is no such kernel".to_owned());
    }
    println!("{} mutants, seed {}", mutants.len(), arguments.seed);
    judge::judge(&mut mutants);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kinds: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for mutant in &mutants {
        let reason = equal::reason(mutant.kernel, &mutant.text);
        let name = match (&mutant.verdict, reason) {
            (Verdict::Survived, Some(Reason::Equal(_))) => "equal",
            (Verdict::Survived, Some(Reason::Stages(_))) => "stages",
            (verdict, _) => verdict.name(),
        };
        *counts.entry(name).or_default() += 1;
        let kind = mutant.text.split(':').next().unwrap_or_default();
        let kind = if kind.starts_with(|c: char| c.is_ascii_digit()) { "n becomes n + 1" } else { kind };
        *kinds.entry((kind, name)).or_default() += 1;
        let detail = mutant.verdict.detail();
        println!("{:<14} {name:<9} {detail:<40} {}", mutant.kernel, mutant.text.replace('\n', "\n        "));
        if let (Verdict::Survived, Some(Reason::Equal(reason) | Reason::Stages(reason))) = (&mutant.verdict, reason) {
            println!("        {name}: {reason}");
        }
    }
    println!();
    kinds.iter().for_each(|((kind, name), count)| println!("{kind:<28} {name:<9} {count:>5}"));
    println!();
    counts.iter().for_each(|(name, count)| println!("{name:<9} {count:>5}"));
    Ok(())
}
