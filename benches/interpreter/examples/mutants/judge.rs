//! Runs mutants in searches.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use broadsweep::{Gpu, Pair};
use interpreter::memory::Fault;
use interpreter::{Finding, Interpreter, Mutation, Report};

use crate::alone;
use crate::cases::{Search, searches};

/// The most submissions of a search. A search with more does not end.
const MOST_SUBMISSIONS: u64 = 4000;
/// The most bytes of a buffer. A larger one shows that the library got garbage.
const MOST_BYTES: u64 = 64 << 20;

/// A change of a kernel, and its verdict.
pub struct Mutant {
    pub kernel: &'static str,
    pub mutation: Mutation,
    /// The change, and its place.
    pub text: String,
    pub verdict: Verdict,
}

/// How a mutant was caught.
pub enum Verdict {
    /// The search found other pairs than brute force.
    Pairs(String),
    /// The interpreter found a fault, or the call failed.
    Fault(String),
    /// The kernel wrote other words, and the pairs were right in every search.
    Outputs(String),
    /// The kernel wrote other words, or had a fault, on numbers that no search has.
    Alone(String),
    Survived,
}

impl Verdict {
    /// Returns the word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pairs(_) => "pairs",
            Self::Fault(_) => "fault",
            Self::Outputs(_) => "outputs",
            Self::Alone(_) => "alone",
            Self::Survived => "survived",
        }
    }

    /// Returns the search and its finding.
    pub fn detail(&self) -> &str {
        match self {
            Self::Pairs(detail) | Self::Fault(detail) | Self::Outputs(detail) | Self::Alone(detail) => detail,
            Self::Survived => "",
        }
    }
}

/// The result of a search.
enum Outcome {
    Pairs(Vec<Pair>),
    Failed(String),
}

/// Judges mutants: runs searches until a fault or wrong pairs caught each mutant, or no search is left. Then runs the
/// kernels of the surviving mutants alone.
pub fn judge(mutants: &mut [Mutant]) {
    for search in searches() {
        let name = search.name;
        let start = Instant::now();
        let is_open = |mutant: &&mut Mutant| matches!(mutant.verdict, Verdict::Outputs(_) | Verdict::Survived);
        let mut open: Vec<&mut Mutant> = mutants.iter_mut().filter(is_open).collect();
        if open.is_empty() {
            break;
        }
        let mut bench = Bench::new(search);
        bench.interpreter.compare(open.iter().map(|mutant| (mutant.kernel.to_owned(), mutant.mutation)));
        bench.search();
        let compared = bench.interpreter.compared();
        drop(bench.interpreter.report());
        let mut runs = 0;
        for (mutant, compared) in open.iter_mut().zip(compared).filter(|(_, compared)| compared.is_caught()) {
            runs += 1;
            let verdict = bench.run(mutant);
            mutant.verdict = match (verdict, compared.findings.first()) {
                (Verdict::Survived, None) => Verdict::Outputs(String::new()),
                (Verdict::Survived, Some(finding)) => Verdict::Fault(describe(finding)),
                (verdict, _) => verdict,
            };
            let (Verdict::Pairs(detail) | Verdict::Fault(detail) | Verdict::Outputs(detail)) = &mut mutant.verdict
            else {
                continue;
            };
            *detail = format!("{name}: {detail}");
        }
        eprintln!(
            "{name}: {} mutants open, {runs} of them another kernel here, {:.1} s",
            open.len(),
            start.elapsed().as_secs_f64()
        );
    }
    let mut open: Vec<&mut Mutant> =
        mutants.iter_mut().filter(|mutant| matches!(mutant.verdict, Verdict::Survived)).collect();
    let compared = alone::compared(open.iter().map(|mutant| (mutant.kernel.to_owned(), mutant.mutation)).collect());
    for (mutant, compared) in open.iter_mut().zip(compared).filter(|(_, compared)| compared.is_caught()) {
        mutant.verdict = Verdict::Alone(compared.findings.first().map(describe).unwrap_or_default());
    }
}

/// A search with its expected result.
struct Bench {
    search: Search,
    interpreter: Interpreter,
    gpu: Gpu,
    expected: Vec<Pair>,
    /// The findings without any change.
    known: BTreeSet<Finding>,
    most_rounds: u64,
}

impl Bench {
    fn new(search: Search) -> Self {
        let Search { name, ref case, .. } = search;
        let (interpreter, gpu) = search.device();
        let expected = case.expected();
        let (known, most_rounds) = (BTreeSet::new(), u64::MAX);
        let mut bench = Self { search, interpreter, gpu, expected, known, most_rounds };
        bench.interpreter.limit(u64::MAX, MOST_SUBMISSIONS, MOST_BYTES);
        let pairs = match bench.search() {
            Outcome::Pairs(pairs) => pairs,
            Outcome::Failed(message) => panic!("{name}: a search without a change fails: {message}"),
        };
        let (found, wanted) = (pairs.len(), bench.expected.len());
        assert!(pairs == bench.expected, "{name}: a search without a change finds {found} pairs instead of {wanted}");
        let Report { findings, kernels, .. } = bench.interpreter.report();
        bench.known = findings.into_keys().collect();
        bench.most_rounds = 1000 + 20 * kernels.values().map(|kernel| kernel.most_rounds).max().unwrap_or(0);
        bench.interpreter.limit(bench.most_rounds, u64::MAX, MOST_BYTES);
        bench
    }

    fn search(&self) -> Outcome {
        // The library may get garbage and panic; the verdict reports it.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let result = catch_unwind(AssertUnwindSafe(|| self.search.case.find(&self.gpu)));
        std::panic::set_hook(hook);
        match result {
            Ok(Ok(pairs)) => Outcome::Pairs(pairs),
            Ok(Err(error)) => Outcome::Failed(error.to_string()),
            Err(panic) => Outcome::Failed(match panic.downcast_ref::<String>() {
                Some(message) => format!("panic: {message}"),
                None => "panic".to_owned(),
            }),
        }
    }

    /// Searches with a mutant.
    fn run(&mut self, mutant: &Mutant) -> Verdict {
        self.interpreter.limit(self.most_rounds, MOST_SUBMISSIONS, MOST_BYTES);
        self.interpreter.mutate(mutant.kernel, mutant.mutation);
        let outcome = self.search();
        let report = self.interpreter.report();
        self.interpreter.mutate_none();
        self.interpreter.limit(self.most_rounds, u64::MAX, MOST_BYTES);
        let found = report.findings.keys().find(|finding| !self.known.contains(finding)).map(describe);
        match outcome {
            Outcome::Failed(message) => {
                // The state of the library for this device may be invalid now.
                (self.interpreter, self.gpu) = self.search.device();
                Verdict::Fault(found.unwrap_or(message))
            }
            Outcome::Pairs(pairs) if pairs != self.expected => {
                Verdict::Pairs(format!("{} pairs instead of {}", pairs.len(), self.expected.len()))
            }
            Outcome::Pairs(_) => found.map_or(Verdict::Survived, Verdict::Fault),
        }
    }
}

fn describe(finding: &Finding) -> String {
    let what = match finding.fault {
        Fault::Race => "race",
        Fault::Unwritten => "unwritten",
        Fault::OutOfBounds => "out of bounds",
        Fault::Divergence => "divergence",
        Fault::Inactive => "inactive",
        Fault::Endless => "endless",
    };
    format!("{what}, {} in {}", finding.what, finding.kernel)
}
