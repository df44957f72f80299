//! Searches in which kernels run, for the tests and for the mutants.

use crate::inputs::{filters, spheres};
use crate::{levels, points, steps, tree_queries};
use broadsweep::device::SortVariant;
use broadsweep::internals::constants::BOTTOM_BOXES;
use broadsweep::internals::kernels;
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Pair, PairOrder, Tree, cpu, wgpu};
use interpreter::Interpreter;
use laboratory::scenes::Kind;

/// The whole flow, even for few boxes.
pub const SWEEP: Options = Options::new().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Canonical);

/// Turns of loops that a query takes in one dispatch: so few that some remain for the next, in more than one workgroup.
const TURNS: u32 = 60;

/// A search in which kernels run, or a tree that is queried, or steps, or levels of a tree.
pub struct Case {
    pub options: Options,
    pub boxes: Vec<Aabb>,
    pub filters: Filters,
    pub variant: SortVariant,
    pub what: What,
}

/// The work on the boxes of a case.
#[derive(Clone, Copy)]
pub enum What {
    /// Their pairs are found.
    Search,
    /// A tree of them is queried.
    Queries(tree_queries::QueriedFrom),
    /// They move, and events are recorded.
    Steps(steps::Kind),
    /// Points and spheres in their middle are recorded.
    Points,
    /// They bound the nodes of a tree, from which the levels above are built.
    Levels,
}

impl Case {
    /// Runs the case. Returns the pairs; for a tree the answers, number for number; for steps all lists.
    pub fn find(&self, gpu: &Gpu) -> Result<Vec<Pair>, Error> {
        match self.what {
            What::Search => {
                let mut broad_phase = BroadPhase::new(gpu, self.options)?;
                broad_phase.set_filters(self.filters.clone())?;
                let mut pairs = broad_phase.find_pairs(&self.boxes)?.pairs.clone();
                if self.options.order == PairOrder::Sweep {
                    pairs.sort_unstable();
                }
                Ok(pairs)
            }
            What::Queries(from) => {
                let gpu = gpu.clone().with_turns(TURNS);
                Ok(as_pairs(&from.answer(&mut Tree::new(&gpu)?, &self.boxes, &self.filters)?))
            }
            What::Steps(kind) => steps::record(gpu, self.options, &self.boxes, &self.filters, kind),
            What::Points => points::record(gpu, self.options, &self.boxes),
            What::Levels => levels::make(gpu, &self.boxes),
        }
    }

    /// Returns the expected result.
    pub fn expected(&self) -> Vec<Pair> {
        match self.what {
            What::Search => {
                let mut engine = cpu::BroadPhase::new(self.options).expect("an engine");
                engine.set_filters(self.filters.clone()).expect("filters");
                let mut expected = engine.find_pairs(&self.boxes).expect("pairs").pairs.clone();
                expected.sort_unstable();
                expected
            }
            What::Queries(from) => {
                as_pairs(&from.answer(&mut cpu::Tree::new(), &self.boxes, &self.filters).expect("answers"))
            }
            What::Steps(kind) => steps::expected(&self.boxes, &self.filters, kind),
            What::Points => points::expected(&self.boxes),
            What::Levels => levels::expected(&self.boxes),
        }
    }
}

/// Converts the answers of a tree to pairs, number for number.
fn as_pairs(answers: &[u64]) -> Vec<Pair> {
    answers.iter().map(|&answer| Pair { a: (answer >> 32) as u32, b: answer as u32 }).collect()
}

/// Creates a device that sorts with this variant, or with its default variant.
pub fn device(subgroup: usize, variant: Option<SortVariant>) -> (Interpreter, Gpu) {
    let interpreter = Interpreter::new(subgroup, wgpu::DeviceType::DiscreteGpu);
    for source in kernels::sources() {
        interpreter.set_text(source.label, source.text());
    }
    let (device, queue) = interpreter.device();
    let gpu = Gpu::from_device(device, queue).expect("the limits suffice");
    (interpreter, gpu.with_sort(variant).expect("subgroups"))
}

/// Creates boxes, some of which are in many more cells than most.
pub fn boxes_in_many_cells(n: usize) -> Vec<Aabb> {
    let mut boxes = Kind::Uniform.generate(n, 1);
    for aabb in boxes.iter_mut().step_by(97) {
        let edge = 6.0 * (aabb.max[0] - aabb.min[0]).max(aabb.max[1] - aabb.min[1]);
        aabb.max = aabb.min.map(|x| x + edge);
    }
    boxes
}

/// Creates boxes among rods without an end.
pub fn boxes_among_rods(n: usize) -> Vec<Aabb> {
    let mut boxes = Kind::Uniform.generate(n, 1);
    for aabb in boxes.iter_mut().step_by(23) {
        (aabb.min[0], aabb.max[0]) = (f32::NEG_INFINITY, f32::INFINITY);
    }
    boxes
}

/// Returns the smallest memory budget that is not refused.
pub fn least_budget(n: usize, options: Options) -> u64 {
    let (_, gpu) = device(32, None);
    let options = options.with_memory_budget(Some(0));
    match BroadPhase::new(&gpu, options).unwrap().memory_plan(n) {
        Err(Error::OverBudget { required, .. }) => required,
        other => panic!("no memory at all should not be enough: {other:?}"),
    }
}

/// Lists searches that together run every kernel. Long searches come last, when most mutants are already caught.
pub fn cases() -> Vec<Case> {
    let case = |options, boxes: Vec<Aabb>, is_filtered: bool, variant| {
        let filters = if is_filtered { filters(boxes.len()) } else { Filters::default() };
        Case { options, boxes, filters, variant, what: What::Search }
    };
    let tree_of = |boxes: Vec<Aabb>, from, variant| {
        let filters = tree_queries::filters(boxes.len());
        Case { options: SWEEP, boxes, filters, variant, what: What::Queries(from) }
    };
    let tree = |boxes, from| tree_of(boxes, from, SortVariant::Portable);
    let steps = |options, boxes, is_filtered| Case {
        what: What::Steps(steps::Kind::Compared),
        ..case(options, boxes, is_filtered, SortVariant::Portable)
    };
    let filtered = |boxes: Vec<Aabb>, filters| Case {
        what: What::Steps(steps::Kind::Filtered),
        filters,
        ..case(SWEEP, boxes, false, SortVariant::Portable)
    };
    // Common ground of all worlds, among boxes of single worlds.
    let world = (0..900).map(|i| if i % 3 > 0 { Filters::GLOBAL } else { i % 150 }).collect();
    let ground = Filters::default().with_world(world);
    let (cut, cut_filters) = steps::with_half_spaces(Kind::Uniform.generate(350, 1), Filters::default());
    let cut_filters = cut_filters.with_sphere(spheres(&cut));
    let dense = Kind::Clusters.generate(400, 1);
    // Boxes in one place, so that the spheres decide each pair, and many of them touch.
    let same = Kind::Identical.generate(60, 1);
    let touching = Filters::default().with_sphere(spheres(&same)).with_half_spaces(filters(60).half_spaces);
    let short = SWEEP.with_memory_budget(Some(least_budget(700, SWEEP)));
    let few = SWEEP.with_all_pairs_up_to(Some(u32::MAX));
    vec![
        case(SWEEP, Kind::Uniform.generate(3000, 1), false, SortVariant::Subgroup),
        case(SWEEP, Kind::Infinite.generate(1500, 1), true, SortVariant::Portable),
        case(few, Kind::Clusters.generate(600, 1), true, SortVariant::Portable),
        steps(few, Kind::Clusters.generate(900, 1), true),
        case(SWEEP, Kind::Clusters.generate(3000, 1), false, SortVariant::Subgroup),
        case(SWEEP, boxes_in_many_cells(1500), false, SortVariant::Portable),
        case(SWEEP, boxes_among_rods(400), false, SortVariant::Subgroup),
        Case { filters: ground, ..case(SWEEP, Kind::Uniform.generate(900, 1), false, SortVariant::Portable) },
        steps(few, Kind::Clusters.generate(700, 1), false),
        filtered(Kind::Clusters.generate(400, 1), Filters::default()),
        filtered(Kind::Uniform.generate(300, 1), filters(300)),
        filtered(cut, cut_filters),
        Case {
            filters: Filters::default().with_sphere(spheres(&dense)),
            ..case(SWEEP, dense, false, SortVariant::Portable)
        },
        Case { filters: touching, ..case(few, same, false, SortVariant::Portable) },
        Case { what: What::Points, ..case(SWEEP, Kind::Uniform.generate(300, 1), false, SortVariant::Portable) },
        // Levels of 263, 33, 5 and 1 nodes: the first takes two rounds of its workgroup, and its last node has two
        // children.
        Case { what: What::Levels, ..case(SWEEP, tree_queries::boxes(2098), false, SortVariant::Portable) },
        tree(tree_queries::boxes(150), tree_queries::QueriedFrom::Device),
        case(short, Kind::Identical.generate(700, 1), false, SortVariant::Portable),
        // More boxes than the lowest nodes of one workgroup have.
        tree_of(
            tree_queries::boxes(BOTTOM_BOXES as usize + 50),
            tree_queries::QueriedFrom::Host,
            SortVariant::Subgroup,
        ),
        tree(tree_queries::boxes(4 * BOTTOM_BOXES as usize + 50), tree_queries::QueriedFrom::Host),
    ]
}
