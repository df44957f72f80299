//! The cost of a call beside its work: kernels are compiled when they are needed, and bound once.

use crate::common::*;
use broadsweep::device::{CompilationProgress, SortVariant};
use broadsweep::internals::brute_force;
use broadsweep::internals::constants::{BALLOT_BITS, BALLOT_LANES, KEY_BITS, RADIX_BITS, SHORT_BALLOT_BITS};
use broadsweep::internals::gpu::buffers::{Buffer, Constants};
use broadsweep::internals::gpu::kernel::{Kernel, Pass, Source};
use broadsweep::query::{NearestQuery, Question, Sphere};
use broadsweep::record::GpuIdentity;
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Pair, PairOrder, Ray, Recorder, Tree, wgpu};
use laboratory::scenes::Kind;

/// A device of its own, without kernels.
fn device() -> Gpu {
    device_with(Gpu::required_limits())
}

/// The cost of a call on a GPU if boxes are few: each dispatch waits for the one before.
#[test]
fn a_hundred_boxes_take_at_most_three_dispatches_and_two_kernels() {
    let gpu = device();
    let boxes = Kind::Uniform.generate(100, 1);
    let expected = brute_force::find_pairs(&boxes);
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let mut broad_phase = BroadPhase::new(&gpu, Options::default().with_order(order)).unwrap();
        let before = gpu.dispatch_count();
        assert_pairs(&broad_phase.find_pairs(&boxes).unwrap().pairs, &expected, "few");
        let taken = gpu.dispatch_count().since(before).total();
        assert!((1..=3).contains(&taken), "{taken} dispatches");
        assert_eq!(gpu.compiled_kernels(), ["small_emit", "small_test"]);
    }
}

#[test]
fn a_call_dispatches_as_often_as_the_documents_say() {
    let boxes = Kind::Uniform.generate(3000, 1);
    // A device that no other test uses.
    let device = device();
    let taken = |variant, options| {
        let gpu = device.clone().with_sort(Some(variant)).unwrap();
        let mut broad_phase = BroadPhase::new(&gpu, options).unwrap();
        broad_phase.reserve(3000, 40_000).unwrap();
        let before = gpu.dispatch_count();
        broad_phase.find_pairs(&boxes).unwrap();
        gpu.dispatch_count().since(before)
    };
    let (few, swept) = (taken(SortVariant::Portable, ALL_PAIRS), taken(SortVariant::Portable, SWEEP));
    // A pass is two kernels.
    let passes = |bits| u64::from(KEY_BITS.div_ceil(bits));
    let with_digits = |bits| swept.total() - 2 * (passes(RADIX_BITS) - passes(bits));
    let is_wide = device.adapter_info().subgroup_min_size >= BALLOT_LANES;
    let own = with_digits(if is_wide { BALLOT_BITS } else { SHORT_BALLOT_BITS });
    assert!(!device.has_subgroups() || taken(SortVariant::Subgroup, SWEEP).total() == own);
    let by_subgroups = with_digits(BALLOT_BITS);
    let (few, portable, indirect) = (few.total(), swept.total(), swept.indirect);
    let document = include_str!("../../docs/decisions.md").split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        format!("{few} dispatches instead of {by_subgroups} ({portable} with the portable sort)"),
        format!("A search has {} direct and {indirect} indirect dispatches", by_subgroups - indirect),
    ] {
        assert!(document.contains(&text), "docs/decisions.md does not contain: {text}");
    }
}

#[test]
fn a_cache_of_the_callers_is_taken() {
    // Software drivers keep nothing in a cache, so that only a GPU shows what it saves.
    let (device, queue) = raw_device_with(Gpu::required_limits(), wgpu::Features::PIPELINE_CACHE);
    let cache_of = |data: Option<&[u8]>| {
        let label = Some("kernels");
        // SAFETY: the data is none, or what the same driver gave a moment ago.
        unsafe { device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor { label, data, fallback: true }) }
    };
    let boxes = Kind::Uniform.generate(100, 1);
    let find = |cache: wgpu::PipelineCache| {
        let gpu = Gpu::from_device(device.clone(), queue.clone()).unwrap().with_pipeline_cache(cache);
        BroadPhase::new(&gpu, Options::default())?.find_pairs(&boxes).map(|found| found.pairs.clone())
    };
    let cache = cache_of(None);
    let expected = brute_force::find_pairs(&boxes);
    assert_pairs(&find(cache.clone()).unwrap(), &expected, "with an empty cache");
    let data = cache.get_data().expect("Vulkan has caches");
    assert_pairs(&find(cache_of(Some(&data))).unwrap(), &expected, "with a cache");
}

/// Filters of every kind that has a kernel of its own.
fn filters_with_kernels(n: usize) -> Filters {
    Filters::default()
        .with_world((0..n as u32).map(|i| i % 3).collect())
        .with_margin(vec![0.01; n])
        .with_include(vec![Pair::new(0, 1)])
}

#[test]
fn what_is_compiled_ahead_is_what_the_call_needs() {
    let gpu = device();
    let boxes = Kind::Uniform.generate(300, 1);
    let mut broad_phase = BroadPhase::new(&gpu, CANONICAL).unwrap();
    broad_phase.set_filters(filters_with_kernels(boxes.len())).unwrap();
    assert_eq!(gpu.compiled_kernels(), [""; 0], "before they are needed");
    let mut found = Vec::new();
    // Few boxes in three kernels, then the whole flow.
    for (all_pairs_up_to, least, most) in [(Some(u32::MAX), 4, 4), (Some(0), 20, 24)] {
        broad_phase.set_options(CANONICAL.with_all_pairs_up_to(all_pairs_up_to)).unwrap();
        // Given up at once, and then not.
        drop(broad_phase.compile_ahead(boxes.len()));
        let compilation = broad_phase.compile_ahead(boxes.len());
        compilation.wait().unwrap();
        let compiled = gpu.compiled_kernels();
        assert!((least..=most).contains(&compiled.len()), "{compiled:?}");
        let before = gpu.dispatch_count();
        found.push(broad_phase.find_pairs(&boxes).unwrap().pairs.clone());
        assert!(gpu.dispatch_count() != before);
        assert_eq!(gpu.compiled_kernels(), compiled, "the call needed other kernels");
    }
    assert!(found[0].len() > 1 && found[0] == found[1]);
}

/// Queries boxes that lie far out, so that `f32` leaves much undecided, and of a list or a row that is long.
fn answer_count(tree: &mut Tree, question: Question, boxes: &[Aabb]) -> usize {
    let rays: Vec<Ray> = boxes.iter().map(|aabb| Ray::new(aabb.min, [1.0, 0.5, 0.25])).collect();
    let spheres: Vec<Sphere> = boxes.iter().map(|aabb| Sphere { center: aabb.max, radius: 0.5 }).collect();
    let points: Vec<NearestQuery> = boxes.iter().map(|aabb| NearestQuery::new(aabb.min)).collect();
    match question {
        Question::NearestHits => tree.nearest_hits(&rays).unwrap().answers.len(),
        Question::FirstHits => {
            tree.first_hits(&rays, 1).unwrap().answers.len() + tree.first_hits(&rays, 70).unwrap().answers.len()
        }
        Question::AnyHits => tree.any_hits(&rays).unwrap().answers.len(),
        Question::AllHits => tree.all_hits(&rays).unwrap().answers.len(),
        Question::Overlaps => tree.overlaps(boxes).unwrap().answers.len(),
        Question::SphereOverlaps => tree.overlaps(&spheres).unwrap().answers.len(),
        Question::Nearest => {
            tree.nearest(&points, 1).unwrap().answers.len() + tree.nearest(&points, 70).unwrap().answers.len()
        }
        other => panic!("{other:?} is not queried here"),
    }
}

#[test]
#[ignore = "long"]
fn what_is_compiled_ahead_for_a_tree_is_what_builds_and_questions_need() {
    let far_out = |aabb: &Aabb| Aabb::new(aabb.min.map(|x| x + 1e5), aabb.max.map(|x| x + 1e5));
    let boxes: Vec<Aabb> = Kind::Uniform.generate(300, 1).iter().map(far_out).collect();
    for question in Question::ALL {
        let gpu = device();
        let mut tree = Tree::new(&gpu).unwrap();
        let n = boxes.len();
        // Every second time with margins and groups.
        if question as usize % 2 == 1 {
            let filters = Filters::default().with_margin(vec![0.01; n]).with_group(vec![1; n]).with_mask(vec![1; n]);
            tree.set_filters(filters).unwrap();
        }
        assert_eq!(gpu.compiled_kernels(), [""; 0], "before they are needed");
        let compilation = tree.compile_ahead(&[question]);
        compilation.wait().unwrap();
        let compiled = gpu.compiled_kernels();
        tree.build(&boxes).unwrap();
        tree.refit(&boxes).unwrap();
        assert!(answer_count(&mut tree, question, &boxes) > 0, "{question:?}");
        assert_eq!(gpu.compiled_kernels(), compiled, "{question:?} needed other kernels");
    }
}

#[test]
#[ignore = "long"]
fn what_is_compiled_ahead_for_events_is_what_recorded_steps_need() {
    let boxes = Kind::Uniform.generate(3000, 1);
    for has_sleepers in [false, true] {
        let gpu = device();
        let mut recorder = Recorder::new(&gpu, CANONICAL.with_all_pairs_up_to(Some(0))).unwrap();
        let sleeping = if has_sleepers { vec![true; boxes.len()] } else { Vec::new() };
        recorder.set_filters(Filters::default().with_sleeping(sleeping)).unwrap();
        let mut compilation = recorder.compile_ahead(boxes.len());
        pollster::block_on(&mut compilation).unwrap();
        let compiled = gpu.compiled_kernels();
        let CompilationProgress { compiled: count, kernels, .. } = compilation.progress();
        assert!(compilation.is_finished() && count == kernels && kernels >= compiled.len(), "{count} of {kernels}");
        assert!(compiled.contains(&"events_find"), "{compiled:?}");
        let given = Buffer::of(&gpu, "boxes", &boxes, wgpu::BufferUsages::STORAGE).unwrap();
        let names: Vec<u32> = (0..boxes.len() as u32).collect();
        let names = Buffer::of(&gpu, "names", &names, wgpu::BufferUsages::STORAGE).unwrap();
        let named = names.raw().slice(..);
        for identity in [GpuIdentity::Index, GpuIdentity::Generations(named), GpuIdentity::Was(named)] {
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            let boxes_left = given.raw().slice(..);
            recorder.record_events(&mut encoder, boxes_left, boxes.len() as u32, identity).unwrap();
            gpu.queue().submit([encoder.finish()]);
        }
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let expected = brute_force::find_pairs(&boxes).len();
        assert_eq!(recorder.statistics().header.unwrap().count as usize, expected, "asleep: {has_sleepers}");
        assert_eq!(gpu.compiled_kernels(), compiled, "a step needed other kernels; asleep: {has_sleepers}");
    }
}

#[test]
fn two_engines_of_one_device_share_its_kernels_and_record_into_one_encoder() {
    let gpu = device();
    assert_eq!(gpu.label(), "broadsweep");
    let options = CANONICAL.with_all_pairs_up_to(Some(0));
    let mut engines = ["left", "right"].map(|label| Recorder::new(&gpu.clone().with_label(label), options).unwrap());
    assert_eq!(engines.each_ref().map(|engine| engine.gpu().label()), ["left", "right"]);
    let scenes = [1, 2].map(|seed| Kind::Uniform.generate(700, seed));
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let mut compiled = Vec::new();
    for (engine, boxes) in engines.iter_mut().zip(&scenes) {
        let given = Buffer::of(&gpu, "boxes", boxes, wgpu::BufferUsages::STORAGE).unwrap();
        engine.record(&mut encoder, given.raw().slice(..), boxes.len() as u32).unwrap();
        compiled.push(gpu.compiled_kernels());
    }
    gpu.queue().submit([encoder.finish()]);
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert!(!compiled[0].is_empty() && compiled[0] == compiled[1], "{compiled:?}");
    for (engine, boxes) in engines.iter_mut().zip(&scenes) {
        let count = engine.statistics().header.unwrap().count as usize;
        assert_eq!(count, brute_force::find_pairs(boxes).len(), "{}", engine.gpu().label());
    }
}

/// A kernel of two lines, and a body.
fn source(label: &'static str, own: &'static str) -> Source {
    Source { label, own, shared: &[] }
}

/// Dispatches it on four words.
fn dispatch(gpu: &Gpu, kernel: &Kernel, words: wgpu::BindingResource, added: &Buffer<[u32; 4]>) -> Result<(), Error> {
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = Pass::begin(gpu, &mut encoder);
    kernel.dispatch(&mut pass, 1, &[("words", words), ("added", added.all())]);
    pass.finish()?;
    drop(pass);
    gpu.queue().submit([encoder.finish()]);
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    Ok(())
}

const ADD: &str = "@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var<uniform> added: vec4u;
@compute @workgroup_size(1) fn add() { words[0] += added.x; }
";

#[test]
fn a_kernel_that_is_rejected_names_itself_and_the_line() {
    let gpu = device();
    for (label, own, expected) in [
        // Not WGSL; WGSL that is not valid; more than the device has.
        ("garbled", "\n\n@compute fn garbled( {}", "wgsl:3:"),
        (
            "invalid",
            "@group(0) @binding(0) var<storage, read> words: array<u32>;\n@compute @workgroup_size(1) fn invalid() {\n    words[0] = 1u;\n}\n",
            "wgsl:3:",
        ),
        (
            "large",
            "@group(0) @binding(0) var<storage, read_write> words: array<u32>;\n@compute @workgroup_size(9999) fn large() { words[0] = 1u; }\n",
            "9999",
        ),
    ] {
        let kernel = Kernel::new(&gpu, &source(label, own));
        let words = Buffer::<u32>::storage(&gpu, "words", 4).unwrap();
        let added = Buffer::uniform(&gpu, "added", &[[1; 4]]).unwrap();
        let error = dispatch(&gpu, &kernel, words.all(), &added).unwrap_err();
        let Error::Gpu { label: named, message, .. } = &error else { panic!("{error}") };
        assert!(named == label && message.contains(expected), "{error}");
        let cause = std::error::Error::source(&error).expect("the error of naga or wgpu");
        assert!(!cause.to_string().is_empty() && cause.is::<broadsweep::Cause>(), "{cause}");
    }
}

#[test]
fn bind_groups_are_cached_for_the_same_buffers_and_dropped_with_any_of_them() {
    let gpu = device();
    let kernel = Kernel::new(&gpu, &source("add", ADD));
    let allocated = || gpu.device().generate_allocator_report().map(|report| report.total_allocated_bytes);
    let added = Buffer::uniform(&gpu, "added", &[[1; 4]]).unwrap();
    let words = Buffer::<u32>::storage(&gpu, "words", 4).unwrap();
    for _ in 0..3 {
        dispatch(&gpu, &kernel, words.all(), &added).unwrap();
        assert_eq!(gpu.cached_bind_groups(), 1);
    }
    let other = Buffer::uniform(&gpu, "added", &[[2; 4]]).unwrap();
    let clone = other.clone();
    dispatch(&gpu, &kernel, words.all(), &other).unwrap();
    assert_eq!(gpu.cached_bind_groups(), 2);
    drop(other);
    assert_eq!(gpu.cached_bind_groups(), 2, "a clone is the same buffer");
    drop(clone);
    assert_eq!(gpu.cached_bind_groups(), 1);

    // A buffer of the caller's, and a large one: neither outlives its last handle.
    let size = 1 << 24;
    let usage = wgpu::BufferUsages::STORAGE;
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    let of_the_caller = gpu.device().create_buffer(&descriptor);
    let ours = Buffer::<u32>::storage(&gpu, "words", size / 4).unwrap();
    dispatch(&gpu, &kernel, of_the_caller.as_entire_binding(), &added).unwrap();
    dispatch(&gpu, &kernel, ours.all(), &added).unwrap();
    assert_eq!(gpu.cached_bind_groups(), 2);
    let before = allocated();
    drop((of_the_caller, ours));
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert_eq!(gpu.cached_bind_groups(), 1);
    if let (Some(before), Some(after)) = (before, allocated()) {
        assert!(before - after >= 2 * size, "{before} bytes, then {after}");
    }
}

#[test]
#[ignore = "long"]
fn a_broad_phase_that_goes_leaves_nothing_bound() {
    let gpu = device();
    let boxes = Kind::Uniform.generate(100, 1);
    let mut broad_phase = BroadPhase::new(&gpu, Options::default()).unwrap();
    broad_phase.find_pairs(&boxes).unwrap();
    let cached = gpu.cached_bind_groups();
    assert!(cached > 0);
    broad_phase.find_pairs(&boxes).unwrap();
    assert_eq!(gpu.cached_bind_groups(), cached, "the same buffers are bound again");
    // Other constants, a longer list, other filters.
    broad_phase.find_pairs(&boxes[..50]).unwrap();
    assert!(broad_phase.reserve(200, 5000).is_ok());
    broad_phase.set_filters(filters_with_kernels(100)).unwrap();
    broad_phase.find_pairs(&[Aabb::new([0.0; 3], [1.0; 3]); 100]).unwrap();
    assert!(gpu.cached_bind_groups() < 20, "{}", gpu.cached_bind_groups());
    drop(broad_phase);
    assert_eq!(gpu.cached_bind_groups(), 0);
}

#[test]
fn a_constant_is_the_same_buffer_for_the_same_value_and_never_changes() {
    let constants = Constants::<u32>::new("number");
    let get = |value| constants.get(&GPU, value).unwrap();
    let one = get(1);
    assert!(get(1) == one && get(2) != one && get(1) == one);
    // It is forgotten some time, and whoever has it still has it.
    let others: Vec<_> = (10..30).map(get).collect();
    let again = get(1);
    assert!(again != one && !others.contains(&one) && !others.contains(&again));
}
