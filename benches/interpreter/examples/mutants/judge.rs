//! Runs mutants in searches.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use broadsweep::{
    Aabb, BroadPhase, CellSize, Filters, Gpu, HalfSpace, Options, Pair, PairOrder, SortVariant, SweepAxis, cpu,
};
use interpreter::memory::Fault;
use interpreter::{Finding, Interpreter, Mutation, Report};
use laboratory::scenes::Kind;

use crate::searches::{Case, SWEEP, cases, device, filters, least_budget};

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
fn searches() -> Vec<(&'static str, usize, Case)> {
    use SortVariant::{Portable, Subgroup, Wide};
    const CASES: [&str; 5] = ["uniform", "infinite", "few clusters", "clusters", "in pieces"];
    let mut searches: Vec<_> = CASES.into_iter().zip(cases()).map(|(name, case)| (name, 8, case)).collect();
    let few = Options { all_pairs_up_to: u32::MAX, ..SWEEP };
    let in_sweep_order = Options { order: PairOrder::Sweep, ..SWEEP };
    let principal = Options { axis: SweepAxis::Principal, ..SWEEP };
    let fine = Options { cell_size: CellSize::Fixed(0.003), axis: SweepAxis::X, ..SWEEP };
    let finest = Options { cell_size: CellSize::Fixed(0.0004), axis: SweepAxis::Z, ..in_sweep_order };
    let coarse = Options { cell_size: CellSize::Fixed(0.05), axis: SweepAxis::Y, ..SWEEP };
    // Filters take some more.
    let short = Options { memory_budget: Some(least_budget(500, SWEEP) * 51 / 50), ..SWEEP };
    let mut add = |name, subgroup, options, variant, boxes: Vec<Aabb>, filters: Option<fn(usize) -> Filters>| {
        let filters = filters.map_or_else(Filters::default, |filters| filters(boxes.len()));
        searches.push((name, subgroup, Case { options, boxes, filters, variant }));
    };
    add("oblique", 32, principal, Subgroup, Kind::Plane.generate(1000, 2), Some(filters));
    add("a giant", 32, in_sweep_order, Portable, Kind::Giant.generate(8500, 2), None);
    add("giants", 8, SWEEP, Portable, Kind::ThousandGiants.generate(1500, 2), Some(other_filters));
    add("touching", 16, SWEEP, Wide, Kind::Touching.generate(1000, 2), Some(included));
    add("settled", 64, in_sweep_order, Subgroup, Kind::Settled.generate(2000, 2), Some(other_filters));
    add("invalid", 8, SWEEP, Subgroup, Kind::Invalid.generate(800, 2), Some(filters));
    add("huge", 8, SWEEP, Subgroup, Kind::Huge.generate(800, 2), Some(many_worlds));
    add("denormal", 8, SWEEP, Portable, Kind::Denormal.generate(500, 2), Some(masks));
    add("signed zero", 8, SWEEP, Portable, Kind::SignedZero.generate(300, 2), Some(filters));
    add("few signed zeros", 8, few, Portable, Kind::SignedZero.generate(700, 2), Some(included));
    add("one", 8, SWEEP, Portable, Kind::Uniform.generate(1, 2), None);
    add("few apart", 8, few, Portable, Kind::Uniform.generate(2, 2), None);
    add("two clusters", 8, SWEEP, Portable, Kind::TwoClusters.generate(600, 2), Some(many_worlds));
    add("few infinite", 8, few, Wide, Kind::Infinite.generate(900, 2), Some(other_filters));
    add("in pieces, filtered", 8, short, Wide, Kind::Identical.generate(500, 2), Some(other_filters));
    add("in pieces, included", 8, short, Wide, Kind::Identical.generate(500, 2), Some(included));
    add("fine cells", 8, fine, Wide, Kind::Uniform.generate(1500, 2), None);
    add("finest cells", 32, finest, Subgroup, Kind::Spread.generate(700, 2), Some(many_worlds));
    add("coarse cells", 32, coarse, Subgroup, Kind::ManyClusters.generate(2000, 2), None);
    add("many", 32, SWEEP, Subgroup, Kind::Uniform.generate(9000, 2), None);
    searches
}

/// Half-spaces of any direction, groups without masks, and bodies without parents.
fn other_filters(n: usize) -> Filters {
    let half_space = |k: usize| HalfSpace {
        index: (k * n / 5) as u32,
        normal: [1.0 + k as f32, -0.7 * k as f32, 0.3],
        offset: 0.1 * k as f32 + 0.3,
    };
    Filters {
        group: (0..n).map(|i| 1 << (i % 3)).collect(),
        body: (0..n).map(|i| i as u32 / 2).collect(),
        fixed: (0..n).map(|i| i % 4 == 1).collect(),
        // Without a list, a search with half-spaces takes the zeros that wgpu makes new memory of.
        margin: vec![0.0; n],
        half_spaces: (0..5).filter(|_| n > 50).map(half_space).collect(),
        ..Filters::default()
    }
}

/// Masks without groups.
fn masks(n: usize) -> Filters {
    Filters { mask: (0..n).map(|i| 7 ^ (1 << (i % 2))).collect(), ..Filters::default() }
}

/// Pairs of neighbours that are included or excluded, in all rows of all tiles.
fn included(n: usize) -> Filters {
    let pair = |i: usize| Pair::new(i as u32, i as u32 + 1);
    Filters {
        include: (0..n - 1).filter(|i| i % 5 != 2).map(pair).collect(),
        exclude: (0..n - 1).filter(|i| i % 5 == 2).map(pair).collect(),
        ..Filters::default()
    }
}

/// Many worlds of few boxes, and half-spaces in some of them.
fn many_worlds(n: usize) -> Filters {
    let Filters { half_spaces, margin, .. } = other_filters(n);
    Filters { world: (0..n).map(|i| (i * 7 % 31) as u32).collect(), half_spaces, margin, ..Filters::default() }
}

/// Judges mutants: runs searches until each of them is caught by a fault or by pairs, or there are no more.
pub fn judge(mutants: &mut [Mutant]) {
    for (name, subgroup, case) in searches() {
        let is_open = |mutant: &&mut Mutant| matches!(mutant.verdict, Verdict::Outputs(_) | Verdict::Survived);
        let mut open: Vec<&mut Mutant> = mutants.iter_mut().filter(is_open).collect();
        if open.is_empty() {
            break;
        }
        let mut bench = Bench::new(name, subgroup, case);
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
    fn new(name: &str, subgroup: usize, case: Case) -> Self {
        let (interpreter, gpu) = device(subgroup, Some(case.variant));
        let mut engine = cpu::BroadPhase::new(case.options).expect("an engine");
        engine.set_filters(case.filters.clone()).expect("filters");
        let mut expected = engine.find_pairs(&case.boxes).expect("pairs").pairs.clone();
        expected.sort_unstable();
        let (known, most_rounds) = (BTreeSet::new(), u64::MAX);
        let mut bench = Self { case, subgroup, interpreter, gpu, expected, known, most_rounds };
        bench.interpreter.limit(u64::MAX, MOST_SUBMISSIONS, MOST_BYTES);
        let pairs = match bench.search() {
            Outcome::Pairs(pairs) => pairs,
            Outcome::Failed(message) => panic!("{name}: a search without a change fails: {message}"),
        };
        assert!(pairs == bench.expected, "{name}: a search without a change finds other pairs");
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
        // The library may be given garbage, and may panic; the verdict says so.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let result = catch_unwind(AssertUnwindSafe(search));
        std::panic::set_hook(hook);
        match result {
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
