//! Counted costs, for the example and for the test that compares the table with the kernels.

use broadsweep::device::SortVariant;
use broadsweep::filter::HalfSpace;
use broadsweep::internals::kernels;
use broadsweep::{Aabb, BroadPhase, Filters, Gpu, Options, Pair, PairOrder, Tree, wgpu};
use interpreter::counts::Cost;
use interpreter::{Interpreter, KernelCost, Report};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, points};

/// The first line of the table.
pub const COLUMNS: &str = "boxes,entries,candidates,pairs,sort,kernel,dispatches,busy,workgroups,invocations,chain,waits,\
                           barriers,operations,accesses,sectors,first_sectors,new_sectors,constants,bank_turns";

/// The scenes of the table: boxes, and whether each is tested against every other.
pub const TABLE: [(u32, bool); 9] = [
    (300, true),
    (3_000, true),
    (9_000, true),
    (300, false),
    (3_000, false),
    (10_000, false),
    (100_000, false),
    (300_000, false),
    (1_000_000, false),
];

/// A call whose costs were counted.
pub struct Counted {
    pub report: Report,
    /// The report of the call.
    pub found: broadsweep::Report,
}

/// Returns a device with subgroups of this size.
fn device(subgroup: usize, sort: SortVariant) -> (Interpreter, Gpu) {
    let interpreter = Interpreter::new(subgroup, wgpu::DeviceType::DiscreteGpu);
    for source in kernels::sources() {
        interpreter.set_text(source.label, source.text());
    }
    let (device, queue) = interpreter.device();
    let gpu = Gpu::from_device(device, queue).expect("the limits suffice").with_sort(Some(sort)).expect("subgroups");
    (interpreter, gpu)
}

/// Counts the costs of a tree of these boxes: its build, and 20,000 rays of each kind and 20,000 points.
#[allow(dead_code)] // for the example alone
pub fn count_queries(kind: Kind, n: u32, subgroup: usize) -> Vec<(String, Report)> {
    const QUERIES: usize = 20_000;
    let (interpreter, gpu) = device(subgroup, SortVariant::Subgroup);
    let boxes = kind.generate(n as usize, 1);
    let mut tree = Tree::new(&gpu).expect("a tree");
    let mut counted = Vec::new();
    interpreter.count(true);
    tree.build(&boxes).expect("a tree");
    counted.push(("build".to_owned(), interpreter.report()));
    for rays in RayKind::ALL {
        tree.nearest_hits(&rays.generate(QUERIES, 7, &boxes)).expect("hits");
        counted.push((format!("{} rays, nearest hit", rays.name()), interpreter.report()));
    }
    tree.nearest(&points(QUERIES, 7, &boxes), 1).expect("boxes");
    counted.push(("nearest box".to_owned(), interpreter.report()));
    counted
}

/// Sets filters for these boxes.
type Set = fn(&mut Filters, &[Aabb]);

/// The filters with which costs are counted, by name. Each keeps most pairs.
#[allow(dead_code)] // for the example alone
pub const FILTERS: [(&str, Set); 9] = [
    ("groups", |filters, boxes| filters.mask = by_box(boxes, |i| !(1 << (i % 32)))),
    ("bodies", |filters, boxes| filters.body = by_box(boxes, |i| i / 2)),
    ("fixed", |filters, boxes| filters.fixed = by_box(boxes, |i| i.is_multiple_of(5))),
    ("sleeping", |filters, boxes| filters.sleeping = by_box(boxes, |i| i.is_multiple_of(3))),
    ("sets", |filters, boxes| filters.second = by_box(boxes, |i| !i.is_multiple_of(5))),
    ("worlds", |filters, boxes| filters.world = by_box(boxes, |i| u32::from(i.is_multiple_of(5)))),
    ("lists", |filters, boxes| filters.exclude = (1..boxes.len() as u32).map(|i| Pair::new(i - 1, i)).collect()),
    ("half-spaces", |filters, _| {
        filters.half_spaces.push(HalfSpace { index: 0, normal: [0.0, 0.0, 1.0], offset: -1e30 });
    }),
    ("owner", |filters, _| filters.owner = Some(Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]))),
];

/// Returns a value for each box.
#[allow(dead_code)] // for the example alone
fn by_box<T>(boxes: &[Aabb], value: impl Fn(u32) -> T) -> Vec<T> {
    (0..boxes.len() as u32).map(value).collect()
}

/// Counts the costs of a call in canonical order with subgroups of this size.
pub fn count(kind: Kind, n: u32, subgroup: usize, sort: SortVariant, is_small: bool) -> Counted {
    count_filtered(kind, n, subgroup, sort, is_small, &[])
}

/// Counts the costs of a call in canonical order with these filters.
pub fn count_filtered(
    kind: Kind,
    n: u32,
    subgroup: usize,
    sort: SortVariant,
    is_small: bool,
    filters: &[Set],
) -> Counted {
    let (interpreter, gpu) = device(subgroup, sort);
    let all_pairs_up_to = Some(if is_small { n } else { 0 });
    let options = Options::default().with_order(PairOrder::Canonical).with_all_pairs_up_to(all_pairs_up_to);
    let boxes = kind.generate(n as usize, 1);
    let mut broad_phase = BroadPhase::new(&gpu, options).expect("an engine");
    let mut all = Filters::default();
    filters.iter().for_each(|set| set(&mut all, &boxes));
    broad_phase.set_filters(all).expect("filters");
    broad_phase.find_pairs(&boxes).expect("pairs");
    drop(interpreter.report());
    interpreter.count(true);
    let found = broad_phase.find_pairs(&boxes).expect("pairs").report.clone();
    Counted { report: interpreter.report(), found }
}

/// Counts the costs of a scene of the table. Returns its lines: the kernels of a call with one sort, and those of the
/// other sort.
pub fn rows(n: u32, is_small: bool) -> Vec<String> {
    let lines = |sort: SortVariant, name: &str| -> Vec<String> {
        let Counted { report, found } = count(Kind::Uniform, n, 32, sort, is_small);
        let line = |(kernel, cost): (&String, &KernelCost)| {
            let KernelCost { dispatches, busy, workgroups, invocations, chain, all_waits, barriers, .. } = cost;
            let Cost { instructions, sectors, first_sectors, new_sectors, constants, bank_turns, .. } = cost.total;
            let sort = if kernel.starts_with("sort") { name } else { "" };
            format!(
                "{},{},{},{},{sort},{kernel},{dispatches},{busy},{workgroups},{invocations},{chain},{all_waits},{barriers},{},\
                 {instructions},{sectors},{first_sectors},{new_sectors},{constants},{bank_turns}",
                found.box_count, found.entry_count, found.candidate_count, found.pair_count, cost.operations,
            )
        };
        report.kernels.iter().map(line).collect()
    };
    let mut all = lines(SortVariant::Subgroup, "subgroup");
    if !is_small {
        all.extend(lines(SortVariant::Portable, "portable").into_iter().filter(|line| line.contains(",portable,")));
    }
    all
}
