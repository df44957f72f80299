//! The library on the interpreter: its pairs are right, no kernel does anything that a GPU might do otherwise, and what is
//! taken out of a kernel on purpose is noticed.

mod barriers;
mod flow;
mod memory;

use broadsweep::internals::{brute_force, kernels};
use broadsweep::{
    Aabb, BroadPhase, CellSize, Error, Filters, Gpu, HalfSpace, Options, Pair, PairOrder, SortVariant, SweepAxis, cpu,
    wgpu,
};
use interpreter::memory::Fault;
use interpreter::{Finding, Interpreter, Order, Report};
use laboratory::scenes::Kind;

/// What is flagged and known: kernel, fault, access, and why it stays.
const KNOWN: &[(&str, Fault, &str, &str)] = &[
    ("sweep_test", Fault::Unwritten, "load of footprints", "four at once; those of no entry are no candidates"),
    ("emit_again", Fault::Unwritten, "load of footprints", "four at once; those of no entry are no candidates"),
    ("sort_count", Fault::Unwritten, "load of keys_in", "four at once; those behind the end are counted apart"),
    ("sort_tally", Fault::Unwritten, "load of keys_in", "four at once; those behind the end are counted apart"),
    ("sort_scatter", Fault::Unwritten, "load of keys_in", "four at once; those behind the end are left out"),
    ("sort_scatter", Fault::Unwritten, "load of values_in", "four at once; those behind the end are left out"),
    ("sort_wide", Fault::Unwritten, "load of keys_in", "four at once; those behind the end are left out"),
    ("sort_wide", Fault::Unwritten, "load of values_in", "four at once; those behind the end are left out"),
    ("sweep_count", Fault::Unwritten, "load of stretches", "two at once; that of no entry stays as it was"),
    (
        "prepare_boxes",
        Fault::Unwritten,
        "load of half_space_bits",
        "no half-spaces are one word, zero as wgpu makes it",
    ),
];

/// Sizes of subgroups that GPUs have.
const SUBGROUPS: [usize; 4] = [8, 16, 32, 64];

/// The whole flow, also where boxes are few.
const SWEEP: Options = Options {
    all_pairs_up_to: 0,
    axis: SweepAxis::Auto,
    cell_size: CellSize::Auto,
    order: PairOrder::Canonical,
    memory_budget: None,
    candidate_limit: 1 << 40,
    vertices_per_pair: 24,
};

/// Makes a device, which sorts in this variant, or in the one that it would choose itself.
fn device(subgroup: usize, variant: Option<SortVariant>) -> (Interpreter, Gpu) {
    let interpreter = Interpreter::new(subgroup, wgpu::DeviceType::DiscreteGpu);
    for source in kernels::sources() {
        interpreter.set_text(source.label, source.text());
    }
    let (device, queue) = interpreter.device();
    let gpu = Gpu::from_device(device, queue).expect("the limits suffice");
    (interpreter, gpu.with_sort(variant).expect("subgroups"))
}

fn is_known(finding: &Finding) -> bool {
    let is = |&(kernel, fault, what, _): &(&str, Fault, &str, &str)| {
        finding.kernel == kernel && finding.fault == fault && finding.what == what
    };
    KNOWN.iter().any(is)
}

/// Panics with all findings that are not known.
fn assert_clean(report: &Report, context: &str) {
    let found: Vec<_> = report.findings.iter().filter(|(finding, _)| !is_known(finding)).collect();
    assert!(found.is_empty(), "{context}: {found:#?}");
}

/// Filters of every kind.
fn filters(n: usize) -> Filters {
    let index = |i: usize| i as u32;
    Filters {
        group: (0..n).map(|i| 1 << (i % 3)).collect(),
        mask: (0..n).map(|i| 7 ^ (1 << (i % 2))).collect(),
        body: (0..n).map(|i| index(i / 2)).collect(),
        parent: (0..n).map(|i| if i % 5 == 0 { index(i / 4) } else { Filters::NO_PARENT }).collect(),
        world: (0..n).map(|i| if i % 11 == 0 { Filters::GLOBAL } else { index(i % 3) }).collect(),
        fixed: (0..n).map(|i| i % 4 == 0).collect(),
        sleeping: (0..n).map(|i| i % 7 == 0).collect(),
        margin: (0..n).map(|i| (i % 3) as f32 * 0.01).collect(),
        exclude: (0..n.min(40)).skip(3).map(|i| Pair::new(0, index(i))).collect(),
        include: if n > 2 { vec![Pair::new(0, 1), Pair::new(1, 2)] } else { Vec::new() },
        half_spaces: if n > 9 {
            vec![HalfSpace { index: 9, normal: [0.0, 0.0, 1.0], offset: 0.2 }]
        } else {
            Vec::new()
        },
        ..Filters::default()
    }
}

/// Makes boxes of which some are in many more cells than most.
fn boxes_in_many_cells(n: usize) -> Vec<Aabb> {
    let mut boxes = Kind::Uniform.generate(n, 1);
    for aabb in boxes.iter_mut().step_by(97) {
        let edge = 6.0 * (aabb.max[0] - aabb.min[0]).max(aabb.max[1] - aabb.min[1]);
        aabb.max = aabb.min.map(|x| x + edge);
    }
    boxes
}

/// Returns the smallest memory budget that is not refused.
fn least_budget(n: usize, order: PairOrder) -> u64 {
    let (_, gpu) = device(32, None);
    let options = Options { order, memory_budget: Some(0), ..SWEEP };
    match BroadPhase::new(&gpu, options).unwrap().memory_plan(n) {
        Err(Error::OverBudget { required, .. }) => required,
        other => panic!("no memory at all should not be enough: {other:?}"),
    }
}

/// Searches on a device of the interpreter, and compares the pairs.
fn check((interpreter, gpu): &(Interpreter, Gpu), options: Options, boxes: &[Aabb], filters: &Filters, context: &str) {
    let mut broad_phase = BroadPhase::new(gpu, options).unwrap();
    broad_phase.set_filters(filters.clone()).unwrap();
    let mut found = broad_phase.find_pairs(boxes).unwrap().clone();
    let mut engine = cpu::BroadPhase::new(options).unwrap();
    engine.set_filters(filters.clone()).unwrap();
    let mut expected = engine.find_pairs(boxes).unwrap().pairs.clone();
    if *filters == Filters::default() {
        assert_eq!(brute_force::find_pairs(boxes).len(), expected.len());
    }
    expected.sort_unstable();
    if options.order == PairOrder::Sweep {
        found.pairs.sort_unstable();
    }
    assert_clean(&interpreter.report(), context);
    assert!(found.pairs == expected, "{context}: {} pairs instead of {}", found.pairs.len(), expected.len());
}
