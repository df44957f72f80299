//! Both engines behind one trait, so that one test body runs on both.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use broadsweep::cpu;
use broadsweep::filter::Attribute;
use broadsweep::internals::brute_force;
use broadsweep::{Aabb, BroadPhase, Error, Filters, Options, Overlaps, Pair, PairOrder, Report};

use crate::common::{self, ALL_PAIRS, CANONICAL, SWEEP, assert_pairs};
use crate::rule;

pub trait Engine {
    fn name(&self) -> &'static str;
    fn set_options(&mut self, options: Options);
    fn set_filters(&mut self, filters: Filters) -> Result<(), Error>;
    fn filters(&self) -> &Filters;
    fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error>;
    fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<Overlaps, Error>;
}

macro_rules! engine {
    ($type:ty, $name:literal) => {
        impl Engine for $type {
            fn name(&self) -> &'static str {
                $name
            }
            fn set_options(&mut self, options: Options) {
                <$type>::set_options(self, options).expect("options are valid");
            }
            fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
                <$type>::set_filters(self, filters)
            }
            fn filters(&self) -> &Filters {
                <$type>::filters(self)
            }
            fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
                <$type>::change_filters(self, first, values)
            }
            fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<Overlaps, Error> {
                // The engine retains its list.
                <$type>::find_pairs(self, boxes).map(|overlaps| overlaps.clone())
            }
        }
    };
}

engine!(BroadPhase, "GPU");
engine!(cpu::BroadPhase, "CPU");

/// Returns the test binary's only `BroadPhase`, with these options and without filters.
pub fn gpu(options: Options) -> MutexGuard<'static, BroadPhase> {
    let mut gpu = common::broad_phase(options);
    gpu.set_filters(Filters::default()).expect("nothing is valid");
    gpu
}

/// Returns an engine as [`gpu`] does, on the CPU.
pub fn cpu(options: Options) -> MutexGuard<'static, cpu::BroadPhase> {
    static CPU: LazyLock<Mutex<cpu::BroadPhase>> =
        LazyLock::new(|| Mutex::new(cpu::BroadPhase::new(Options::default()).expect("options are valid")));
    let mut cpu = CPU.lock().unwrap_or_else(PoisonError::into_inner);
    cpu.set_options(options).expect("options are valid");
    cpu.set_filters(Filters::default()).expect("nothing is valid");
    cpu
}

/// Runs a test body on one engine and then on the other, which have these options and no filters.
pub fn on_both(options: Options, mut body: impl FnMut(&mut dyn Engine)) {
    body(&mut *gpu(options));
    body(&mut *cpu(options));
}

/// Every box against every other, and the whole flow, each in both orders.
pub const WAYS: [Options; 4] = [CANONICAL, SWEEP, ALL_PAIRS, ALL_PAIRS.with_order(PairOrder::Sweep)];

/// Checks both engines, in the ways given, and the library's oracle against the plain double loop.
pub fn assert_filtered(boxes: &[Aabb], filters: &Filters, ways: &[Options], what: &str) {
    let expected = rule::find_pairs(boxes, filters);
    assert_pairs(&brute_force::find_filtered_pairs(boxes, filters), &expected, &format!("oracle: {what}"));
    on_both(CANONICAL, |engine| {
        engine.set_filters(filters.clone()).unwrap_or_else(|error| panic!("{}, {what}: {error}", engine.name()));
        for &options in ways {
            engine.set_options(options);
            assert_finds(engine, boxes, filters, options.order, &expected, what);
        }
    });
}

/// Checks a call of an engine that has these filters and this order.
pub fn assert_finds(
    engine: &mut dyn Engine,
    boxes: &[Aabb],
    filters: &Filters,
    order: PairOrder,
    expected: &[Pair],
    what: &str,
) {
    let what = format!("{}, {order:?}, {what}", engine.name());
    let found = engine.find_pairs(boxes).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_overlaps(found, boxes, filters, order, expected, &what);
}

/// Checks pairs, and the report about them and the boxes.
pub fn assert_overlaps(
    found: Overlaps,
    boxes: &[Aabb],
    filters: &Filters,
    order: PairOrder,
    expected: &[Pair],
    what: &str,
) {
    let Overlaps { mut pairs, report, .. } = found;
    if order == PairOrder::Sweep {
        pairs.sort_unstable();
    }
    assert_pairs(&pairs, expected, &format!("{what}, {report:?}"));
    let invalid = rule::invalid(boxes, filters);
    assert_eq!((report.box_count as usize, report.pair_count), (boxes.len(), expected.len() as u64), "{what}");
    assert_eq!(report.invalid_count as usize, invalid.len(), "{what}");
    assert_eq!(report.first_invalid, invalid[..invalid.len().min(Report::INVALID_LISTED)], "{what}");
}
