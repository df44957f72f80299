//! Limits, budgets and full buffers: a typed error before any work, or the exact answer.

use crate::common::*;
use broadsweep::device::MemoryPlan;
use broadsweep::filter::HalfSpace;
use broadsweep::internals::brute_force;
use broadsweep::{Aabb, BroadPhase, CellSize, Error, Filters, Gpu, Options, Pair, PairOrder, wgpu};
use laboratory::scenes::Kind;

#[test]
fn the_report_holds_what_the_plan_predicted() {
    for (n, options) in [0, 1, 1000, 30_000].into_iter().flat_map(|n| [(n, SWEEP), (n, ALL_PAIRS)]) {
        let boxes = Kind::Uniform.generate(n, 1);
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        let plan = broad_phase.memory_plan(n).unwrap();
        let report = broad_phase.find_pairs(&boxes).unwrap().report.clone();
        assert_eq!(report.tested_all_pairs, plan.all_pairs);
        assert!(report.gpu_bytes >= plan.total());
        // Four pairs a box are planned for; the list may have had to grow by the rest.
        assert!(report.gpu_bytes <= plan.total() + 16 * report.pair_count, "{plan:?} {report:?}");
    }
}

/// Compares every buffer that the engine has with the plan that it was allocated after: by name, and in bytes.
#[test]
fn the_buffers_that_exist_are_those_of_the_plan() {
    let boxes = Kind::Uniform.generate(3000, 1);
    let half_space = HalfSpace { index: 7, normal: [0.0, 1.0, 0.0], offset: 0.5 };
    let many = Filters::default()
        .with_group(vec![1; 3000])
        .with_mask(vec![3; 3000])
        .with_body((0..3000).map(|i| i / 2).collect())
        .with_parent(vec![Filters::NO_PARENT; 3000])
        .with_fixed(vec![false; 3000])
        .with_exclude(vec![Pair::new(2, 9), Pair::new(3, 7)])
        .with_world((0..3000).map(|i| i % 5).collect())
        .with_sleeping(vec![false; 3000])
        .with_margin(vec![0.01; 3000])
        .with_include(vec![Pair::new(0, 1)])
        .with_half_spaces(vec![half_space]);
    for options in [SWEEP, CANONICAL, ALL_PAIRS] {
        for filters in [Filters::default(), many.clone()] {
            let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
            broad_phase.set_filters(filters).unwrap();
            // The largest capacity, so that nothing grows in the call.
            broad_phase.reserve(3000, 40_000).unwrap();
            let report = broad_phase.find_pairs(&boxes).unwrap().report.clone();
            let plan = broad_phase.memory_plan(3000).unwrap();
            let (mut planned, mut allocated) = (plan.buffers(), broad_phase.buffers());
            planned.sort_unstable();
            allocated.sort_unstable();
            assert_eq!(allocated, planned, "{options:?}");
            assert_eq!(plan.total(), planned.iter().map(|(_, bytes)| bytes).sum::<u64>());
            assert_eq!(report.gpu_bytes, plan.total());
        }
    }
}

/// Returns the allocated bytes of the device, if it reports them.
#[test]
fn the_device_counts_what_the_plan_predicts() {
    let gpu = device_with(Gpu::required_limits());
    let reported = || gpu.device().generate_allocator_report();
    if gpu.adapter_info().backend != wgpu::Backend::Vulkan && reported().is_none() {
        return; // a backend of which wgpu does not promise it
    }
    let before = reported().expect("Vulkan reports allocations").total_allocated_bytes;
    let mut broad_phase = BroadPhase::new(&gpu, CANONICAL).unwrap();
    broad_phase.reserve(30_000, 200_000).unwrap();
    let plan = broad_phase.memory_plan(30_000).unwrap().total();
    let growth = reported().unwrap().total_allocated_bytes - before;
    // Beside the plan there are a few constants; and an allocator rounds up.
    assert!((plan..plan + plan / 8 + (1 << 16)).contains(&growth), "{growth} bytes, and the plan has {plan}");
}

#[test]
fn numbers_of_boxes_beyond_any_memory_are_refused_and_overflow_nowhere() {
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let filters = Filters::default().with_include(vec![Pair::new(0, 1)]);
    for filters in [Filters::default(), filters] {
        broad_phase.set_filters(filters).unwrap();
        for n in [usize::MAX, usize::MAX / 24 + 1, usize::MAX / 4, 1 << 40] {
            assert!(matches!(broad_phase.memory_plan(n), Err(Error::TooManyBoxes { .. })), "{n}");
            assert!(matches!(broad_phase.reserve(n, 1), Err(Error::TooManyBoxes { .. })), "{n}");
        }
    }
}

#[test]
#[ignore = "long"]
fn the_least_budget_gives_the_exact_answer_in_pieces() {
    for (kind, n) in [(Kind::Uniform, 8000), (Kind::Clusters, 6000), (Kind::Infinite, 5000), (Kind::Identical, 700)] {
        let boxes = kind.generate(n, 2);
        let expected = brute_force::find_pairs(&boxes);
        for order in [PairOrder::Canonical, PairOrder::Sweep] {
            let least = least_budget(&boxes, order);
            let options = CANONICAL.with_order(order).with_memory_budget(Some(least));
            let mut overlaps = on_gpu(&boxes, options);
            overlaps.pairs.sort_unstable();
            assert_pairs(&overlaps.pairs, &expected, kind.name());
            assert!(overlaps.report.gpu_bytes <= least);
            // A second call must not take more either.
            assert!(on_gpu(&boxes, options).report.gpu_bytes <= least);
        }
    }
}

#[test]
fn a_budget_that_is_too_small_is_refused_before_any_work() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 5000];
    let least = least_budget(&boxes, PairOrder::Sweep);
    let options = CANONICAL.with_order(PairOrder::Sweep).with_memory_budget(Some(least - 1));
    // Boxes that lie apart are searched in several passes, except by calls that do not block.
    let apart = Kind::Uniform.generate(5000, 1);
    assert!(on_gpu(&apart, options).report.passes > 1);
    let found = broad_phase(options).find_pairs(&boxes).map(|_| ());
    let submitted = broad_phase(options).submissions().submit(&apart);
    for error in [found.unwrap_err(), submitted.unwrap_err()] {
        assert_eq!(error, Error::OverBudget { box_count: 5000, required: least, budget: least - 1 });
        let text = error.to_string();
        assert!(text.contains(&least.to_string()) && text.contains(&(least - 1).to_string()), "{text}");
    }
}

#[test]
fn results_beyond_the_capacity_are_found_again() {
    // A cell as large as the scene: every two boxes are a candidate, far more than the capacity.
    let boxes = Kind::Uniform.generate(6000, 6);
    let expected = brute_force::find_pairs(&boxes);
    let budget = least_budget(&boxes, PairOrder::Canonical);
    let options = CANONICAL.with_cell_size(CellSize::Fixed(100.0)).with_memory_budget(Some(budget));
    let overlaps = on_gpu(&boxes, options);
    let retained = broad_phase(options).memory_plan(6000).unwrap().tile_capacity;
    assert!(overlaps.report.candidate_count > 4 * 8192 * u64::from(retained), "{:?}", overlaps.report);
    assert_pairs(&overlaps.pairs, &expected, "found again");
}

#[test]
fn more_candidates_than_the_limit_are_refused_with_both_numbers() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 2000];
    let count = 2000 * 1999 / 2;
    let refused = CANONICAL.with_candidate_limit(count - 1);
    let error = broad_phase(refused).find_pairs(&boxes).unwrap_err();
    assert_eq!(error, Error::TooManyCandidates { candidate_count: count, limit: count - 1 });
    // The next call is not affected, and exactly the limit is allowed.
    let allowed = CANONICAL.with_candidate_limit(count);
    assert_eq!(on_gpu(&boxes, allowed).report.pair_count, count);
    assert_eq!(
        broadsweep::cpu::find_pairs(&boxes, &refused).unwrap_err(),
        Error::TooManyCandidates { candidate_count: count, limit: count - 1 }
    );
}

/// Drivers in software end long loops without a word, so that there pairs would be missing.
#[test]
fn a_software_adapter_takes_no_more_candidates_than_its_loops_do() {
    if GPU.adapter_info().device_type != wgpu::DeviceType::Cpu {
        println!("not a software adapter: nothing to refuse");
        return;
    }
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 130_000];
    let all = CANONICAL.with_candidate_limit(u64::MAX);
    let error = broad_phase(all).find_pairs(&boxes).unwrap_err();
    assert_eq!(error, Error::TooManyCandidates { candidate_count: 130_000 * 129_999 / 2, limit: 8_000_000_000 });
}

#[test]
fn a_million_and_a_half_boxes_fit_webgpus_default_limits() {
    let limits = wgpu::Limits::defaults();
    let plan = MemoryPlan::new(1_500_000, &CANONICAL, &limits).unwrap();
    assert!(plan.buffers().iter().all(|(_, bytes)| *bytes <= limits.max_storage_buffer_binding_size));
    // Two and a quarter entries per box are what uniform boxes have.
    assert!(plan.entry_capacity >= 4_000_000);
    assert!(plan.total() < 2 << 30);
}

#[test]
#[ignore = "long"]
fn a_million_and_a_half_boxes_run_within_webgpus_default_limits() {
    let gpu = device_with(Gpu::required_limits());
    let boxes = Kind::Uniform.generate(1_500_000, 1);
    let mut found = BroadPhase::new(&gpu, Options::default()).unwrap().find_pairs(&boxes).unwrap().pairs.clone();
    let mut expected = broadsweep::cpu::find_pairs(&boxes, &Options::default()).unwrap().pairs;
    found.sort_unstable();
    expected.sort_unstable();
    assert_pairs(&found, &expected, "a million and a half");
}

#[test]
fn more_boxes_than_a_binding_holds_are_refused_with_the_limit() {
    let limits = wgpu::Limits::defaults();
    let most = limits.max_storage_buffer_binding_size / 24;
    let error = MemoryPlan::new(most as usize + 1, &CANONICAL, &limits).unwrap_err();
    let Error::TooManyBoxes { box_count, limit, available, max_boxes, required, .. } = error.clone() else {
        panic!("{error:?}");
    };
    assert_eq!((box_count, max_boxes), (most + 1, most));
    assert_eq!((limit, available), ("max_storage_buffer_binding_size", 128 << 20));
    assert!(required > available && error.to_string().contains("max_storage_buffer_binding_size"));
    assert!(MemoryPlan::new(most as usize, &CANONICAL, &limits).is_ok());
    // A huge device still ends at 2^25 entries.
    let huge = wgpu::Limits { max_storage_buffer_binding_size: 1 << 34, max_buffer_size: 1 << 34, ..limits };
    assert!(MemoryPlan::new(1 << 25, &CANONICAL, &huge).is_ok());
    assert!(matches!(MemoryPlan::new((1 << 25) + 1, &CANONICAL, &huge), Err(Error::TooManyBoxes { .. })));
    assert!(matches!(MemoryPlan::new(usize::MAX, &CANONICAL, &huge), Err(Error::TooManyBoxes { .. })));
}

#[test]
#[ignore = "long"]
fn a_device_with_webgpus_default_limits_suffices() {
    let gpu = device_with(Gpu::required_limits());
    let boxes = Kind::Infinite.generate(3000, 1);
    let mut broad_phase = BroadPhase::new(&gpu, CANONICAL).unwrap();
    let overlaps = broad_phase.find_pairs(&boxes).unwrap().clone();
    assert_pairs(&overlaps.pairs, &brute_force::find_pairs(&boxes), "default limits");
    let too_many = (128 << 20) / 24 + 1;
    assert!(matches!(broad_phase.memory_plan(too_many), Err(Error::TooManyBoxes { .. })));
}

#[test]
#[ignore = "long"]
fn small_bindings_mean_more_pieces() {
    // A list of 524,288 pairs is all that one binding holds.
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 4 << 20, ..Gpu::required_limits() };
    let gpu = device_with(limits);
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 1500];
    let expected = brute_force::find_pairs(&boxes);
    assert!(expected.len() > 2 * 524_288);
    for order in [PairOrder::Canonical, PairOrder::Sweep] {
        let mut broad_phase = BroadPhase::new(&gpu, CANONICAL.with_order(order)).unwrap();
        let mut overlaps = broad_phase.find_pairs(&boxes).unwrap().clone();
        overlaps.pairs.sort_unstable();
        assert_pairs(&overlaps.pairs, &expected, "small bindings");
    }
    // 174,762 boxes of 24 bytes fit.
    let mut broad_phase = BroadPhase::new(&gpu, CANONICAL).unwrap();
    let error = broad_phase.submissions().submit(&Kind::Uniform.generate(174_763, 1)).unwrap_err();
    assert!(matches!(error, Error::TooManyBoxes { max_boxes: 174_762, .. }), "{error}");
    assert_eq!(broad_phase.find_pairs(&Kind::Uniform.generate(174_762, 1)).unwrap().report.box_count, 174_762);
}

#[test]
fn a_device_that_lacks_what_the_kernels_need_is_refused() {
    let limits = wgpu::Limits { max_storage_buffers_per_shader_stage: 4, ..Gpu::required_limits() };
    let (device, queue) = raw_device(limits);
    let error = Gpu::from_device(device, queue).unwrap_err();
    assert_eq!(
        error,
        Error::DeviceTooSmall { limit: "max_storage_buffers_per_shader_stage", required: 8, available: 4 }
    );
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 1 << 20, ..Gpu::required_limits() };
    let (device, queue) = raw_device(limits);
    let error = Gpu::from_device(device, queue).unwrap_err();
    assert!(matches!(error, Error::DeviceTooSmall { limit: "max_storage_buffer_binding_size", .. }), "{error}");
}

#[test]
#[ignore = "long"]
fn scenes_that_grow_and_shrink_reuse_one_broad_phase() {
    for all_pairs_up_to in [0, 300, 5000, u32::MAX] {
        let options = CANONICAL.with_all_pairs_up_to(Some(all_pairs_up_to));
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        for n in [10, 5000, 0, 300, 5100, 1, 6000, 20] {
            let boxes = Kind::Pile.generate(n, n as u64);
            let overlaps = broad_phase.find_pairs(&boxes).unwrap().clone();
            assert_pairs(&overlaps.pairs, &brute_force::find_pairs(&boxes), &n.to_string());
            let is_few = all_pairs_up_to > 0 && n <= all_pairs_up_to as usize;
            assert_eq!(overlaps.report.tested_all_pairs, is_few, "{n} of {all_pairs_up_to}");
        }
    }
}

#[test]
fn no_limit_on_candidates_refuses_what_the_sweep_would_do() {
    let boxes = Kind::Uniform.generate(1000, 1);
    let expected = brute_force::find_pairs(&boxes);
    let tests = 1000 * 999 / 2;
    for (candidate_limit, is_all_pairs) in [(tests, true), (tests - 1, false), (50_000, false)] {
        let options = ALL_PAIRS.with_candidate_limit(candidate_limit);
        let overlaps = on_gpu(&boxes, options);
        assert_pairs(&overlaps.pairs, &expected, "limited");
        assert!(overlaps.report.candidate_count <= candidate_limit);
        assert_eq!(overlaps.report.tested_all_pairs, is_all_pairs);
        let cpu = broadsweep::cpu::find_pairs(&boxes, &options).unwrap();
        assert_pairs(&cpu.pairs, &expected, "limited");
        assert_eq!(cpu.report.tested_all_pairs, is_all_pairs);
    }
}

#[test]
fn no_budget_refuses_what_the_sweep_would_do() {
    let boxes = Kind::Uniform.generate(3000, 1);
    let expected = brute_force::find_pairs(&boxes);
    let least = least_budget(&boxes, PairOrder::Canonical);
    // Twelve blocks of boxes have 78 tiles of 8 × 256 words, and 16 × 256 words are there in any case.
    let enough = least + (78 * 8 - 16) * 256 * 4;
    for (budget, is_all_pairs) in [(least, false), (enough - 1, false), (enough, true)] {
        let overlaps = on_gpu(&boxes, ALL_PAIRS.with_memory_budget(Some(budget)));
        assert_pairs(&overlaps.pairs, &expected, "in a budget");
        assert!(overlaps.report.gpu_bytes <= budget);
        assert_eq!(overlaps.report.tested_all_pairs, is_all_pairs, "{budget} bytes");
    }
}

#[test]
fn all_pairs_are_tested_up_to_the_limit_and_never_beyond_the_largest() {
    let limits = wgpu::Limits::defaults();
    let plan = |n, most| MemoryPlan::new(n, &CANONICAL.with_all_pairs_up_to(Some(most)), &limits).unwrap();
    for (n, up_to, is_all_pairs) in [
        (0, 0, false),
        (1, 0, false),
        (0, 1, true),
        (1, 1, true),
        (2, 1, false),
        (1000, 1000, true),
        (1001, 1000, false),
        (32_768, u32::MAX, true),
        (32_769, u32::MAX, false),
    ] {
        assert_eq!(plan(n, up_to).all_pairs, is_all_pairs, "{n} boxes of {up_to}");
    }
    // A scene that grows past the limit and shrinks again must not be given other buffers each time.
    let sizes = [1, 300, 3000, 3001, 3300, 5000, 100_000];
    let tiles = sizes.map(|n| plan(n, 3000).all_pairs_tile_capacity);
    assert!(tiles.is_sorted(), "{tiles:?}");
    assert!(plan(100_000, 3000).total() < plan(100_000, 0).total() + (1 << 20));
}

#[test]
fn options_without_a_meaning_are_refused() {
    for edge in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let options = CANONICAL.with_cell_size(CellSize::Fixed(edge));
        let error = broad_phase(CANONICAL).set_options(options).unwrap_err();
        assert!(matches!(error, Error::BadOption { option: "CellSize::Fixed", .. }), "{error}");
        assert!(broadsweep::cpu::find_pairs(&[], &options).is_err());
    }
}
