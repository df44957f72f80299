//! Filters where memory is short: lists in pieces, boxes in slabs, pairs streamed.

use broadsweep::filter::HalfSpace;
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Overlaps, Pair, PairOrder, Report, wgpu};
use laboratory::scenes::Kind;

use crate::common::{CANONICAL, Random, SWEEP, assert_pairs, device_with};
use crate::engines::{assert_overlaps, gpu};
use crate::inputs::{all, some_pairs, worlds};
use crate::rule;

/// Finds the smallest budget in which this many boxes are not refused, with the filters there are.
fn least_budget(broad_phase: &mut BroadPhase, n: usize, order: PairOrder) -> u64 {
    broad_phase.set_options(CANONICAL.with_order(order).with_memory_budget(Some(0))).unwrap();
    match broad_phase.memory_plan(n) {
        Err(Error::OverBudget { required, .. }) => required,
        other => panic!("no memory at all should not be enough: {other:?}"),
    }
}

/// Collects all pieces, and checks that none is empty unless there are no pairs, and that each comes with the report of
/// the whole, or of the pairs so far.
fn streamed(broad_phase: &mut BroadPhase, boxes: &[Aabb]) -> (Overlaps, usize) {
    let (mut pairs, mut reports) = (Vec::new(), Vec::new());
    let each = |report: &Report, piece: &[Pair]| -> Result<(), Error> {
        assert_eq!(piece.is_empty(), report.pair_count == 0);
        pairs.extend_from_slice(piece);
        assert!(report.passes == 1 || report.pair_count == pairs.len() as u64, "{report:?}");
        reports.push(report.clone());
        Ok(())
    };
    let report = broad_phase.stream_pairs(boxes, each).unwrap();
    assert_eq!(reports.last(), Some(&report));
    assert!(report.passes > 1 || reports.iter().all(|one| *one == report));
    (Overlaps::new(pairs, report), reports.len())
}

/// Checks both calls that block, with a budget for `most` boxes, and gives their passes and the streamed pieces.
fn assert_exact_within(boxes: &[Aabb], filters: &Filters, most: usize, order: PairOrder, what: &str) -> (u32, usize) {
    let expected = rule::find_pairs(boxes, filters);
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(filters.clone()).unwrap();
    let budget = least_budget(&mut broad_phase, most, order);
    broad_phase.set_options(CANONICAL.with_order(order).with_memory_budget(Some(budget))).unwrap();
    let found = broad_phase.find_pairs(boxes).unwrap_or_else(|error| panic!("{what}: {error}")).clone();
    let (passes, bytes) = (found.report.passes, found.report.gpu_bytes);
    assert!(bytes <= budget, "{what}: {bytes} bytes, and the budget is {budget}");
    let (streamed, pieces) = streamed(&mut broad_phase, boxes);
    // In canonical order each piece is sorted by itself.
    if order == PairOrder::Sweep {
        assert_pairs(&streamed.pairs, &found.pairs, what);
    }
    assert_overlaps(found, boxes, filters, order, &expected, what);
    assert_overlaps(streamed, boxes, filters, PairOrder::Sweep, &expected, what);
    (passes, pieces)
}

#[test]
fn long_lists_come_in_pieces_and_once() {
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        // Two in three pairs of identical boxes: by worlds, bodies, lists.
        let boxes = Kind::Identical.generate(500, 1);
        let mut random = Random(1);
        let filters = Filters::default()
            .with_world((0..500).map(|i| if i % 50 == 0 { Filters::GLOBAL } else { i % 2 }).collect())
            .with_body((0..500).map(|i| i / 2).collect())
            .with_sleeping((0..500).map(|i| i % 5 == 0).collect())
            .with_second((0..500).map(|i| i % 7 == 0).collect())
            .with_exclude(some_pairs(&mut random, 500, 9000))
            .with_include(some_pairs(&mut random, 500, 20_000))
            .with_half_spaces(vec![HalfSpace { index: 3, normal: [1.0, 1.0, 1.0], offset: 1.5 }]);
        let (passes, pieces) = assert_exact_within(&boxes, &filters, 500, order, "in pieces");
        assert!(passes == 1 && pieces > 5, "{passes} passes, {pieces} pieces");
        // Nothing but included pairs.
        let filters = filters.with_group(vec![0; 500]);
        let (passes, pieces) = assert_exact_within(&boxes, &filters, 500, order, "included, in pieces");
        assert!(passes == 1 && pieces > 3, "{passes} passes, {pieces} pieces");
    }
}

#[test]
#[ignore = "long"]
fn scenes_in_slabs_are_exact_with_all_filters() {
    for (i, kind) in [Kind::Uniform, Kind::Clusters, Kind::City, Kind::Invalid, Kind::Touching, Kind::Infinite]
        .into_iter()
        .enumerate()
    {
        let boxes = kind.generate(3000, 3);
        let mut filters = all(&mut Random(i as u64), &boxes);
        // Margins that reach everywhere and many half-spaces would be in every slab.
        for margin in &mut filters.margin {
            *margin = if *margin > 1e10 { 0.0 } else { *margin };
        }
        // A list of the device would take as much memory as all else.
        filters.exclude_at_most = i as u32 % 2 * 100_000;
        for order in [PairOrder::Sweep, PairOrder::Canonical] {
            let (passes, _) = assert_exact_within(&boxes, &filters, 1200, order, kind.name());
            assert!(passes > 2, "{}: {passes} passes", kind.name());
        }
    }
}

#[test]
fn pairs_across_slabs_are_excluded_and_included_once() {
    let boxes = Kind::Uniform.generate(3000, 9);
    let mut random = Random(2);
    let exclude = crate::inputs::exclude(&mut random, &boxes);
    let mut include = some_pairs(&mut random, boxes.len(), 30_000);
    include.extend(exclude.iter().step_by(3));
    let filters = Filters::default().with_exclude(exclude).with_include(include);
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let (passes, _) = assert_exact_within(&boxes, &filters, 1000, order, "lists in slabs");
        assert!(passes > 2, "{passes} passes");
    }
    // No box is in any pair but an included one, and some are in no slab.
    let mut boxes = boxes;
    boxes.iter_mut().step_by(3).for_each(|aabb| aabb.min[1] = f32::NAN);
    let filters = filters.with_fixed(vec![true; boxes.len()]).with_exclude(Vec::new());
    assert_exact_within(&boxes, &filters, 1000, PairOrder::Canonical, "nothing but included pairs");
}

#[test]
fn worlds_in_one_place_are_exact_in_slabs() {
    let boxes = Kind::Uniform.generate(3000, 5);
    let filters = Filters::default().with_world(worlds(&mut Random(5), &boxes, true));
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let (passes, _) = assert_exact_within(&boxes, &filters, 1000, order, "worlds");
        assert!(passes > 2, "{passes} passes");
    }
}

#[test]
fn parents_of_boxes_that_are_bodies_by_their_index_are_exact_in_slabs() {
    let boxes = Kind::Uniform.generate(3000, 5);
    // Each child of a box that it overlaps, where there is one.
    let mut parent = vec![Filters::NO_PARENT; boxes.len()];
    for Pair { a, b } in rule::find_pairs(&boxes, &Filters::default()) {
        parent[b as usize] = a;
    }
    let filters = Filters::default().with_parent(parent);
    let (passes, _) = assert_exact_within(&boxes, &filters, 1000, PairOrder::Canonical, "parents");
    assert!(passes > 2, "{passes} passes");
}

#[test]
#[ignore = "long"]
fn more_included_pairs_than_a_binding_holds_are_refused_for_what_they_are() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 4 << 20, ..Gpu::required_limits() };
    let gpu = device_with(limits);
    let boxes = Kind::Uniform.generate(1100, 1);
    let every = (0..1100).flat_map(|a| (a + 1..1100).map(move |b| Pair { a, b }));
    let mut broad_phase = BroadPhase::new(&gpu, CANONICAL).unwrap();
    // 524,288 pairs of 8 bytes fit.
    let include: Vec<Pair> = every.take(524_289).collect();
    broad_phase.set_filters(Filters::default().with_include(include[1..].to_vec())).unwrap();
    assert!(broad_phase.find_pairs(&boxes).unwrap().pairs.len() >= 524_288);
    broad_phase.set_filters(Filters::default().with_include(include)).unwrap();
    let error = broad_phase.find_pairs(&boxes).unwrap_err();
    assert!(matches!(error, Error::BadFilter { list: "include", index: Some(524_288), .. }), "{error}");
    assert!(error.to_string().contains("capacity for 524288") && error.to_string().contains("4194304"), "{error}");
}

#[test]
fn a_callback_that_stops_leaves_the_filters_and_the_next_call() {
    let boxes = Kind::Uniform.generate(2000, 5);
    let filters = all(&mut Random(6), &boxes);
    let expected = rule::find_pairs(&boxes, &filters);
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(filters.clone()).unwrap();
    let stopped = broad_phase.stream_pairs(&boxes, |_, _| Err(Error::Busy));
    assert_eq!(stopped.unwrap_err(), Error::Busy);
    let found = broad_phase.find_pairs(&boxes).unwrap().clone();
    assert_overlaps(found, &boxes, &filters, PairOrder::Canonical, &expected, "after a stop");
}

#[test]
fn a_callback_that_panics_in_a_slab_leaves_the_filters_and_what_they_take() {
    let boxes = Kind::Uniform.generate(6000, 1);
    let exclude = some_pairs(&mut Random(1), boxes.len(), 20_000);
    let filters = Filters::default().with_exclude(exclude).with_body((0..6000).map(|i| i / 2).collect());
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(filters.clone()).unwrap();
    let budget = least_budget(&mut broad_phase, 3000, PairOrder::Sweep);
    broad_phase.set_options(CANONICAL.with_memory_budget(Some(budget))).unwrap();
    // The rest of a plan has the capacity that earlier calls needed.
    let of_filters = |broad_phase: &BroadPhase| {
        let rows = broad_phase.memory_plan(1000).unwrap().buffers();
        let of_filters = rows.into_iter().skip_while(|(name, _)| *name != "filters").collect::<Vec<_>>();
        assert!(of_filters.len() > 3, "{of_filters:?}");
        of_filters
    };
    let before = of_filters(&broad_phase);
    let mut passes = 0;
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        broad_phase.stream_pairs(&boxes, |report, _| -> Result<(), Error> {
            passes = report.passes;
            panic!("the caller's")
        })
    }));
    assert!(stopped.is_err() && passes > 1);
    assert_eq!(*broad_phase.filters(), filters);
    assert_eq!(of_filters(&broad_phase), before);
    let expected = rule::find_pairs(&boxes, &filters);
    let found = broad_phase.find_pairs(&boxes).unwrap().clone();
    assert_overlaps(found, &boxes, &filters, PairOrder::Canonical, &expected, "after a panic");
}

#[test]
#[ignore = "long"]
fn filters_that_take_more_with_more_boxes_keep_to_the_budget() {
    let floor = HalfSpace { index: 0, normal: [0.0, 1.0, 0.1], offset: -1.0 };
    let filters = Filters::default().with_half_spaces(vec![floor]);
    let large = Kind::Uniform.generate(50_000, 1);
    // A list that takes all the memory there is.
    let small = vec![Aabb::new([0.0, 5.0, 0.0], [1.0, 6.0, 1.0]); 2500];
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(filters).unwrap();
    let budget = broad_phase.memory_plan(large.len()).unwrap().total() + 500_000;
    let options = SWEEP.with_memory_budget(Some(budget));
    broad_phase.set_options(options).unwrap();
    broad_phase.reserve(large.len(), 0).unwrap();
    for (boxes, what) in [(&small, "few boxes"), (&large, "many"), (&small, "few again"), (&large, "many again")] {
        let bytes = broad_phase.find_pairs(boxes).unwrap().report.gpu_bytes;
        assert!(bytes <= budget, "{what}: {bytes} bytes, and the budget is {budget}");
    }
    // The buffers for many boxes are released if the budget has no memory for them.
    let budget = budget / 8;
    broad_phase.set_options(options.with_memory_budget(Some(budget))).unwrap();
    let bytes = broad_phase.find_pairs(&small[..300]).unwrap().report.gpu_bytes;
    assert!(bytes <= budget, "less memory: {bytes} bytes, and the budget is {budget}");
}

#[test]
#[ignore = "long"]
fn lists_of_pairs_keep_to_the_budget_before_slabs_and_after() {
    let boxes = Kind::Uniform.generate(6000, 1);
    let filters = Filters::default().with_exclude(some_pairs(&mut Random(1), 500, 100_000));
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(filters).unwrap();
    let budget = least_budget(&mut broad_phase, 3000, PairOrder::Sweep);
    broad_phase.set_options(SWEEP.with_memory_budget(Some(budget))).unwrap();
    let crowd = vec![Aabb::new([0.0; 3], [1.0; 3]); 1500];
    for (boxes, passes) in [(&boxes[..1000], false), (&boxes, true), (&crowd, false), (&boxes, true)] {
        let report = broad_phase.find_pairs(boxes).unwrap().report.clone();
        assert!(report.passes > 1 || !passes);
        assert!(report.gpu_bytes <= budget, "{report:?}, and the budget is {budget}");
    }
}

#[test]
fn wrong_filters_are_refused_before_a_piece_comes() {
    let boxes = Kind::Uniform.generate(500, 5);
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(Filters::default().with_world(vec![0; 499])).unwrap();
    let streamed = broad_phase.stream_pairs(&boxes, |_, _| -> Result<(), Error> { panic!("a piece came") });
    assert!(matches!(streamed.unwrap_err(), Error::FilterLength { list: "world", length: 499, box_count: 500 }));
    broad_phase.set_filters(Filters::default()).unwrap();
    let expected = rule::find_pairs(&boxes, &Filters::default());
    assert_pairs(&broad_phase.find_pairs(&boxes).unwrap().pairs, &expected, "afterwards");
}
