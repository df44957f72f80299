//! Times from costs.

use super::cost::{Cost, Flow, Work, kernels, of_kernel};
use super::gpu::{Between, Gpu};

/// Machine instructions for an operation that the interpreter counts: some vanish, such as moves, others are several,
/// such as divisions. AMD's compiler makes 1.0 to 1.2 of the operations of kernels whose loops it does not unroll.
const INSTRUCTIONS: Between = Between { best: 0.9, worst: 1.4 };
/// Cycles until the next operation of the same subgroup.
const OPERATION: Between = Between { best: 1.5, worst: 5.0 };
/// Cycles until a turn of the banks of workgroup memory is done.
const BANK_TURN: Between = Between { best: 8.0, worst: 30.0 };
/// Cycles for a barrier.
const BARRIER: Between = Between { best: 15.0, worst: 60.0 };
/// The bytes of a sector.
const SECTOR: f64 = 32.0;

/// A range of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Predicted {
    /// The time if all that is best holds, and all that can overlap does.
    pub least: f64,
    /// The time if all that is worst holds, and waits overlap with nothing.
    pub most: f64,
}

/// The prediction of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The kernels with their dispatches.
    pub kernels: Vec<(&'static str, f64, Predicted)>,
    /// The sum.
    pub all: Predicted,
}

/// Predicts the kernels of a call that does this work.
pub fn predict(gpu: &Gpu, work: &Work, flow: Flow) -> Call {
    let kernel =
        |kernel| of_kernel(kernel, work, flow.sort).map(|cost| (kernel, cost.dispatches, predict_kernel(gpu, &cost)));
    let kernels: Vec<_> = kernels(flow).into_iter().filter_map(kernel).collect();
    let sum = |of: fn(&Predicted) -> f64| kernels.iter().map(|(.., predicted)| of(predicted)).sum();
    let all = Predicted { least: sum(|of| of.least), most: sum(|of| of.most) };
    Call { kernels, all }
}

/// Predicts a kernel of this cost.
pub fn predict_kernel(gpu: &Gpu, cost: &Cost) -> Predicted {
    let [least, most] = [|of: Between| of.best, |of: Between| of.worst].map(|pick| Times::of(gpu, cost, pick));
    let dispatches = cost.dispatches;
    Predicted {
        least: dispatches * gpu.dispatch.best
            + cost.busy * gpu.start.best
            + (least.waits + least.operations).max(least.busiest),
        most: dispatches * gpu.dispatch.worst
            + cost.busy * gpu.start.worst
            + most.waits
            + most.operations.max(most.busiest),
    }
}

/// Returns the nanoseconds that it takes at least to read each box and to write each pair once.
pub fn floor(gpu: &Gpu, work: &Work) -> f64 {
    (24.0 * work.boxes + 8.0 * work.pairs) / gpu.memory_bytes.best
}

/// The times of a kernel, dispatches aside, with as many workgroups at a time as there is room for.
struct Times {
    /// The time in which workgroups wait for memory, for workgroup memory and at barriers.
    waits: f64,
    /// The time in which they wait for their own operations.
    operations: f64,
    /// The time of that part of the GPU which has most to do.
    busiest: f64,
}

impl Times {
    /// Computes the times with the best or the worst of all assumptions.
    fn of(gpu: &Gpu, cost: &Cost, pick: fn(Between) -> f64) -> Self {
        if cost.workgroups < 0.5 {
            return Self { waits: 0.0, operations: 0.0, busiest: 0.0 };
        }
        let clock = pick(gpu.clock);
        let subgroups_each = (cost.invocations / 32.0).max(1.0);
        let groups_at_a_time = gpu.units * (pick(gpu.resident) / subgroups_each).max(1.0);
        // The average workgroups of a dispatch.
        let groups = cost.workgroups / cost.busy.max(1.0);
        let rounds = cost.busy * (groups / groups_at_a_time).max(1.0);
        let each = |of_all: f64| of_all / cost.workgroups;

        // Sectors that the workgroup touched before are in the first cache. Of the others, the best case is that the
        // second one has them, the worst that none has.
        let hits = 1.0 - cost.first_sectors / cost.sectors.max(1.0);
        let is_best = pick(Between { best: 1.0, worst: 0.0 }) > 0.5;
        let new = (cost.new_sectors / cost.first_sectors.max(1.0)).min(1.0);
        let missed = if is_best {
            pick(gpu.second_wait)
        } else {
            new * pick(gpu.memory_wait) + (1.0 - new) * pick(gpu.second_wait)
        };
        let wait = hits * pick(gpu.first_wait) + (1.0 - hits) * missed;
        // The slowest workgroup of each dispatch, or all of them in rounds. Nothing hides the waits of the slowest one,
        // and each round trip lasts as long as its slowest sector.
        let slowest = if is_best { gpu.second_wait.best } else { gpu.memory_wait.worst };
        let waits = (cost.chain * slowest).max(rounds * each(cost.waits) * wait);
        let shared = each(cost.bank_turns) / subgroups_each * pick(BANK_TURN) + each(cost.barriers) * pick(BARRIER);
        let waits = waits + rounds * shared / clock;
        let operations = rounds * each(cost.operations) / subgroups_each * pick(OPERATION) / clock;

        let units = gpu.units.min(groups).max(1.0);
        let bytes = new_bytes(gpu, cost, is_best);
        let busiest = [
            (cost.operations * pick(INSTRUCTIONS) + cost.accesses) / (units * gpu.issue * clock),
            cost.bank_turns / (units * clock),
            cost.sectors * SECTOR / (units * pick(gpu.first_bytes) * clock),
            cost.first_sectors * SECTOR / (pick(gpu.second_bytes) * units / gpu.units),
            bytes / pick(gpu.memory_bytes),
        ];
        Self { waits, operations, busiest: busiest.into_iter().fold(0.0, f64::max) }
    }
}

/// Returns the bytes that come from memory, or go there. In the best case the last cache keeps what it has room for.
fn new_bytes(gpu: &Gpu, cost: &Cost, is_best: bool) -> f64 {
    let bytes = cost.new_sectors * SECTOR;
    if is_best { (bytes - cost.busy.max(1.0) * gpu.cache).max(0.0) } else { bytes }
}

#[cfg(test)]
mod tests {
    use broadsweep::PairOrder;

    use super::super::cost::Sort;
    use super::super::gpu::KNOWN;
    use super::*;

    fn work(boxes: f64) -> Work {
        Work { boxes, entries: 1.95 * boxes, candidates: 24.0 * boxes, pairs: 3.9 * boxes }
    }

    #[test]
    fn more_boxes_take_longer_and_more_than_the_floor() {
        for gpu in &KNOWN {
            for sort in [Sort::Subgroup, Sort::Portable] {
                let flow = Flow { tests_all_pairs: false, sort, order: PairOrder::Canonical };
                let calls = [1e3, 1e4, 1e5, 1e6, 1e7].map(|boxes| predict(gpu, &work(boxes), flow).all);
                assert!(calls.windows(2).all(|two| two[0].least <= two[1].least && two[0].most < two[1].most));
                assert!(calls.iter().all(|call| call.least < call.most));
                assert!(calls[4].least > floor(gpu, &work(1e7)), "{} {:?}", gpu.name, calls[4]);
            }
        }
    }

    #[test]
    fn an_empty_dispatch_takes_what_a_dispatch_takes() {
        let cost = Cost { dispatches: 2.0, ..Cost::default() };
        let gpu = &KNOWN[0];
        let expected = Predicted { least: 2.0 * gpu.dispatch.best, most: 2.0 * gpu.dispatch.worst };
        assert_eq!(predict_kernel(gpu, &cost), expected);
    }

    #[test]
    fn one_workgroup_waits_for_each_of_its_loads() {
        let cost = Cost {
            dispatches: 1.0,
            busy: 1.0,
            workgroups: 1.0,
            invocations: 32.0,
            chain: 100.0,
            waits: 100.0,
            ..Cost::default()
        };
        let gpu = &KNOWN[0];
        let Predicted { least, most } = predict_kernel(gpu, &cost);
        assert_eq!(least, gpu.dispatch.best + gpu.start.best + 100.0 * gpu.second_wait.best);
        assert_eq!(most, gpu.dispatch.worst + gpu.start.worst + 100.0 * gpu.memory_wait.worst);
    }
}
