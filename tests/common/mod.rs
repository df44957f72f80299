//! Shared by the tests of the whole flow: one device and one `BroadPhase`, and the comparison with brute force.
#![allow(dead_code)] // each test binary uses a part of it

pub mod device;

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use broadsweep::cpu;
use broadsweep::internals::brute_force;
use broadsweep::{
    Aabb, BroadPhase, CellSize, Error, Gpu, Options, Overlaps, Pair, PairOrder, Recorder, Report, SweepAxis, wgpu,
};

/// The adapter that the environment chooses. Without one the tests fail; they never skip.
pub static GPU: LazyLock<Gpu> = LazyLock::new(|| Gpu::headless().expect("the tests need a Vulkan adapter"));

/// One for all tests: kernels take seconds to compile on some adapters.
static BROAD_PHASE: LazyLock<Mutex<BroadPhase>> =
    LazyLock::new(|| Mutex::new(BroadPhase::new(&GPU, Options::default()).expect("the kernels compile")));

/// Returns the shared `BroadPhase` with these options.
pub fn broad_phase(options: Options) -> MutexGuard<'static, BroadPhase> {
    let mut guard = BROAD_PHASE.lock().unwrap_or_else(PoisonError::into_inner);
    // Discard the results that a failed test left in flight.
    while !matches!(guard.submissions().try_take(), Err(Error::NothingSubmitted)) {}
    guard.set_options(options).expect("options are valid");
    guard
}

/// Returns a `Recorder` with these options.
pub fn recorder(options: Options) -> Recorder {
    Recorder::new(&GPU, options).expect("options are valid")
}

/// Pairs and report of the GPU.
pub fn on_gpu(boxes: &[Aabb], options: Options) -> Overlaps {
    broad_phase(options).find_pairs(boxes).unwrap_or_else(|error| panic!("{options:?}: {error}")).clone()
}

/// Submits, and waits until all commands have run and all their callbacks have returned. Threads of other tests poll
/// the same device. One of them may take the callbacks of these commands, and call them after this thread's `poll`
/// returned.
pub fn wait_for(gpu: &Gpu, encoder: wgpu::CommandEncoder) {
    let (send, done) = mpsc::channel();
    encoder.on_submitted_work_done(move || send.send(()).unwrap());
    gpu.queue().submit([encoder.finish()]);
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    done.recv_timeout(Duration::from_secs(60)).unwrap();
}

/// The whole flow, also where boxes are few, in canonical order.
pub const CANONICAL: Options = Options::new().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Canonical);

pub const AXES: [SweepAxis; 5] = [SweepAxis::Auto, SweepAxis::Principal, SweepAxis::X, SweepAxis::Y, SweepAxis::Z];

pub const CELL_SIZES: [CellSize; 5] =
    [CellSize::Auto, CellSize::Usscd, CellSize::Fixed(1e-3), CellSize::Fixed(1.0), CellSize::Fixed(1e20)];

/// Every box against every other, where there are few.
pub const ALL_PAIRS: Options = CANONICAL.with_all_pairs_up_to(Some(u32::MAX));

/// The whole flow in the order of the sweep.
pub const SWEEP: Options = CANONICAL.with_order(PairOrder::Sweep);

/// Checks GPU and CPU engine against brute force: every box against every other, and the whole flow for every axis and
/// several cell sizes.
pub fn assert_exact(boxes: &[Aabb]) {
    let expected = brute_force::find_pairs(boxes);
    for order in [PairOrder::Canonical, PairOrder::Sweep] {
        assert_finds(boxes, &expected, ALL_PAIRS.with_order(order));
    }
    assert_finds(boxes, &expected, CANONICAL.with_axis(SweepAxis::Principal));
    // Each axis and each cell size, twice in other pairs.
    for turn in 0..2 {
        for (i, axis) in AXES.into_iter().enumerate() {
            let cell_size = CELL_SIZES[(i + turn) % CELL_SIZES.len()];
            assert_finds(boxes, &expected, CANONICAL.with_axis(axis).with_cell_size(cell_size));
        }
    }
}

/// Checks GPU and CPU engine against the pairs that are right.
pub fn assert_finds(boxes: &[Aabb], expected: &[Pair], options: Options) {
    let gpu = on_gpu(boxes, options);
    assert_pairs(&gpu.pairs, expected, &format!("GPU, {options:?}, {:?}", gpu.report));
    assert_eq!(gpu.report.pair_count, expected.len() as u64);
    assert_eq!(gpu.report.box_count as usize, boxes.len());
    assert_eq!(gpu.report.tested_all_pairs, options.all_pairs_up_to != Some(0), "{options:?}");
    let cpu = cpu::find_pairs(boxes, &options).unwrap();
    assert_pairs(&cpu.pairs, expected, &format!("CPU, {options:?}, {:?}", cpu.report));
    assert_eq!(gpu.report.invalid_count, cpu.report.invalid_count);
    assert_eq!(gpu.report.first_invalid, cpu.report.first_invalid);
    if gpu.report.tested_all_pairs {
        let n = boxes.len() as u64;
        assert_eq!(gpu.report.candidate_count, n * n.saturating_sub(1) / 2);
        assert_eq!(without_memory(&gpu.report), cpu.report);
    }
}

/// Returns the report of the search without the memory of the engine.
pub fn without_memory(report: &Report) -> Report {
    let mut report = report.clone();
    report.gpu_bytes = 0;
    report
}

/// Names the first difference rather than printing two long lists.
pub fn assert_pairs(found: &[Pair], expected: &[Pair], what: &str) {
    if found != expected {
        let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
        panic!(
            "{what}: {} pairs instead of {}; number {at} is {:?} instead of {:?}",
            found.len(),
            expected.len(),
            found.get(at),
            expected.get(at)
        );
    }
}

/// Returns the pairs in ascending order.
pub fn sorted(pairs: &[Pair]) -> Vec<Pair> {
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable();
    pairs
}

/// Creates a device of the caller's own with exactly these limits.
pub fn device_with(limits: wgpu::Limits) -> Gpu {
    let (device, queue) = raw_device(limits);
    Gpu::from_device(device, queue).expect("the limits suffice")
}

pub fn raw_device(limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    raw_device_with(limits, wgpu::Features::empty())
}

pub fn raw_device_with(limits: wgpu::Limits, features: wgpu::Features) -> (wgpu::Device, wgpu::Queue) {
    device_of(&adapter(), limits, features)
}

/// Creates two devices of one adapter.
pub fn two_devices(limits: wgpu::Limits) -> [(wgpu::Device, wgpu::Queue); 2] {
    let adapter = adapter();
    [(); 2].map(|()| device_of(&adapter, limits.clone(), wgpu::Features::empty()))
}

fn adapter() -> wgpu::Adapter {
    let mut instance = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    instance.backends = wgpu::Backends::PRIMARY;
    pollster::block_on(wgpu::Instance::new(instance).request_adapter(&Default::default()))
        .expect("the tests need a Vulkan adapter")
}

fn device_of(adapter: &wgpu::Adapter, limits: wgpu::Limits, features: wgpu::Features) -> (wgpu::Device, wgpu::Queue) {
    let descriptor =
        wgpu::DeviceDescriptor { required_limits: limits, required_features: features, ..Default::default() };
    pollster::block_on(adapter.request_device(&descriptor)).expect("a device")
}

/// Finds the smallest memory budget that is not refused.
pub fn least_budget(boxes: &[Aabb], order: PairOrder) -> u64 {
    let options = CANONICAL.with_order(order).with_memory_budget(Some(0));
    match broad_phase(options).memory_plan(boxes.len()) {
        Err(Error::OverBudget { required, .. }) => required,
        other => panic!("no memory at all should not be enough: {other:?}"),
    }
}

/// Small numbers in any order: SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 24) as f32
    }
}
