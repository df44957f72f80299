//! Runs mutants in searches.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use broadsweep::{Aabb, BroadPhase, Filters, Gpu, Options, Pair, PairOrder, SortVariant, SweepAxis, cpu};
use interpreter::memory::Fault;
use interpreter::{Finding, Interpreter, Mutation, Report};
use laboratory::scenes::Kind;

use crate::searches::{Case, SWEEP, cases, device, filters};

/// Submissions of a search, beyond which it does not end.
const MOST_SUBMISSIONS: u64 = 500;
/// Bytes of a buffer, beyond which the library was given garbage.
const MOST_BYTES: u64 = 64 << 20;

/// A change of a kernel, and what became of it.
pub struct Mutant {
    pub kernel: &'static str,
    pub mutation: Mutation,
    /// What is changed, and where.
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
    Survived,
}

impl Verdict {
    /// Returns the word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pairs(_) => "pairs",
            Self::Fault(_) => "fault",
            Self::Outputs(_) => "outputs",
            Self::Survived => "survived",
        }
    }

    /// Returns in which search, and what was found.
    pub fn detail(&self) -> &str {
        match self {
            Self::Pairs(detail) | Self::Fault(detail) | Self::Outputs(detail) => detail,
            Self::Survived => "",
        }
    }
}

/// What came out of a search.
enum Outcome {
    Pairs(Vec<Pair>),
    Failed(String),
}

/// Lists the searches, with the size of subgroups of each.
fn searches() -> Vec<(String, usize, Case)> {
    let mut searches: Vec<_> =
        cases().into_iter().enumerate().map(|(k, case)| (format!("case {k}"), 8, case)).collect();
    let few = Options { all_pairs_up_to: u32::MAX, ..SWEEP };
    let sweep_order = Options { order: PairOrder::Sweep, ..SWEEP };
    let principal = Options { axis: SweepAxis::Principal, ..SWEEP };
    let mut add = |name: &str, subgroup, options, boxes: Vec<Aabb>, is_filtered, variant| {
        let filters = if is_filtered { filters(boxes.len()) } else { Filters::default() };
        searches.push((name.to_owned(), subgroup, Case { options, boxes, filters, variant }));
    };
    use SortVariant::{Portable, Subgroup, Wide};
    add("oblique plane", 32, principal, Kind::Plane.generate(1000, 2), true, Subgroup);
    add("giants", 32, sweep_order, Kind::Giant.generate(1200, 2), false, Subgroup);
    add("thousand giants", 8, SWEEP, Kind::ThousandGiants.generate(1500, 2), true, Portable);
    add("touching", 16, SWEEP, Kind::Touching.generate(1000, 2), false, Wide);
    add("settled", 64, sweep_order, Kind::Settled.generate(2000, 2), true, Subgroup);
    add("invalid", 8, SWEEP, Kind::Invalid.generate(800, 2), true, Subgroup);
    add("huge", 8, SWEEP, Kind::Huge.generate(800, 2), false, Subgroup);
    add("denormal", 8, SWEEP, Kind::Denormal.generate(500, 2), false, Portable);
    add("signed zero", 8, few, Kind::SignedZero.generate(300, 2), true, Portable);
    add("one", 8, SWEEP, Kind::Uniform.generate(1, 2), false, Portable);
    add("two clusters", 8, SWEEP, Kind::TwoClusters.generate(600, 2), true, Portable);
    add("few infinite", 8, few, Kind::Infinite.generate(900, 2), true, Wide);
    add("many uniform", 32, SWEEP, Kind::Uniform.generate(9000, 2), false, Subgroup);
    searches
}

/// Judges mutants: runs searches until each of them is caught by a fault or by pairs, or there are no more.
pub fn judge(mutants: &mut [Mutant]) {
    // The library is given garbage, and may panic; the verdict says so.
    std::panic::set_hook(Box::new(|_| ()));
    for (name, subgroup, case) in searches() {
        let is_open = |mutant: &&mut Mutant| matches!(mutant.verdict, Verdict::Outputs(_) | Verdict::Survived);
        let mut open: Vec<&mut Mutant> = mutants.iter_mut().filter(is_open).collect();
        if open.is_empty() {
            break;
        }
        let mut bench = Bench::new(subgroup, case);
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
        eprintln!("{name}: {} mutants open, {runs} of them another kernel here", open.len());
    }
}

/// A search, with what is right.
struct Bench {
    case: Case,
    subgroup: usize,
    interpreter: Interpreter,
    gpu: Gpu,
    expected: Vec<Pair>,
    /// What is found without any change.
    known: BTreeSet<Finding>,
    most_rounds: u64,
}

impl Bench {
    fn new(subgroup: usize, case: Case) -> Self {
        let (interpreter, gpu) = device(subgroup, Some(case.variant));
        let mut engine = cpu::BroadPhase::new(case.options).expect("an engine");
        engine.set_filters(case.filters.clone()).expect("filters");
        let mut expected = engine.find_pairs(&case.boxes).expect("pairs").pairs.clone();
        expected.sort_unstable();
        let (known, most_rounds) = (BTreeSet::new(), u64::MAX);
        let mut bench = Self { case, subgroup, interpreter, gpu, expected, known, most_rounds };
        bench.interpreter.limit(u64::MAX, MOST_SUBMISSIONS, MOST_BYTES);
        let Outcome::Pairs(pairs) = bench.search() else { panic!("a search without a change fails") };
        assert!(pairs == bench.expected, "a search without a change finds other pairs");
        let Report { findings, kernels, .. } = bench.interpreter.report();
        bench.known = findings.into_keys().collect();
        bench.most_rounds = 1000 + 20 * kernels.values().map(|kernel| kernel.most_rounds).max().unwrap_or(0);
        bench.interpreter.limit(bench.most_rounds, u64::MAX, MOST_BYTES);
        bench
    }

    fn search(&self) -> Outcome {
        let search = || {
            let mut broad_phase = BroadPhase::new(&self.gpu, self.case.options)?;
            broad_phase.set_filters(self.case.filters.clone())?;
            Ok(broad_phase.find_pairs(&self.case.boxes)?.pairs.clone())
        };
        match catch_unwind(AssertUnwindSafe(search)) {
            Ok(Ok(mut pairs)) => {
                if self.case.options.order == PairOrder::Sweep {
                    pairs.sort_unstable();
                }
                Outcome::Pairs(pairs)
            }
            Ok(Err::<_, broadsweep::Error>(error)) => Outcome::Failed(error.to_string()),
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
                // What the library keeps of a device may be anything now.
                (self.interpreter, self.gpu) = device(self.subgroup, Some(self.case.variant));
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
