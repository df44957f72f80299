//! The cost of a call, counted by the interpreter of the kernels.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use broadsweep::PairOrder;

/// The table of counted costs; its first line names the columns.
const TABLE: &str = include_str!("costs.csv");

/// The costs of all dispatches of a kernel in one call, with subgroups of 32.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Dispatches.
    pub dispatches: f64,
    /// Dispatches with at least one workgroup.
    pub busy: f64,
    /// Workgroups of all dispatches.
    pub workgroups: f64,
    /// Invocations of a workgroup.
    pub invocations: f64,
    /// The most round trips to memory that follow each other in a workgroup, added up over dispatches.
    pub chain: f64,
    /// Round trips that follow each other, of all workgroups.
    pub waits: f64,
    /// Barriers of all workgroups.
    pub barriers: f64,
    /// Operations of all subgroups, accesses to memory aside.
    pub operations: f64,
    /// Accesses of all subgroups to memory.
    pub accesses: f64,
    /// Sectors of 32 bytes that each access touches.
    pub sectors: f64,
    /// Sectors that the workgroup had not touched before.
    pub first_sectors: f64,
    /// Sectors that no workgroup of the dispatch had touched before.
    pub new_sectors: f64,
    /// Addresses of uniform buffers.
    pub constants: f64,
    /// Turns that the banks of workgroup memory take.
    pub bank_turns: f64,
}

/// The numbers that decide what a call costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Boxes.
    pub boxes: f64,
    /// Entries of the grid; 0 where every box was tested against every other.
    pub entries: f64,
    /// Tests.
    pub candidates: f64,
    /// Pairs.
    pub pairs: f64,
}

impl Work {
    /// Returns the work of a call with this report.
    pub fn of(report: &broadsweep::Report) -> Self {
        Self {
            boxes: report.box_count.into(),
            entries: report.entry_count.into(),
            candidates: report.candidate_count as f64,
            pairs: report.pair_count as f64,
        }
    }

    /// Returns the number that the costs of a kernel grow with.
    fn unit(&self, kernel: &str) -> f64 {
        match kernel.split('_').next().unwrap_or(kernel) {
            "sort" | "rank" => self.entries,
            "sweep" if kernel != "sweep_test" => self.entries,
            "sweep" | "giants" | "small" => self.candidates,
            "emit" if kernel == "emit_sweep" => self.pairs,
            "emit" => self.candidates,
            "order" if !matches!(kernel, "order_sums" | "order_rows") => self.pairs,
            _ => self.boxes,
        }
    }
}

/// A kernel, of one of the sorts where it is part of them, by [`Sort::name`].
type Key = (&'static str, &'static str);

/// The kernels' costs for each number that they grow with, ascending.
static COUNTED: LazyLock<BTreeMap<Key, Vec<(f64, Cost)>>> = LazyLock::new(|| {
    let mut counted: BTreeMap<Key, Vec<(f64, Cost)>> = BTreeMap::new();
    for line in TABLE.lines().skip(1) {
        let mut fields = line.split(',');
        let mut number = || fields.next().and_then(|field| field.parse().ok()).unwrap_or(f64::NAN);
        let work = Work { boxes: number(), entries: number(), candidates: number(), pairs: number() };
        let (sort, kernel) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let numbers: Vec<f64> = fields.map(|field| field.parse().unwrap_or(f64::NAN)).collect();
        let numbers = <[f64; 14]>::try_from(numbers).unwrap_or([f64::NAN; 14]);
        counted.entry((kernel, sort)).or_default().push((work.unit(kernel), Cost::from(numbers)));
    }
    counted
});

/// A sort for GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// With `sort_ballot`.
    Subgroup,
    /// With `sort_scatter`.
    Portable,
}

impl Sort {
    fn name(self) -> &'static str {
        match self {
            Self::Subgroup => "subgroup",
            Self::Portable => "portable",
        }
    }
}

/// The properties of a call that determine its kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// True if every box is tested against every other.
    pub tests_all_pairs: bool,
    /// The sort of entries.
    pub sort: Sort,
    /// The order of the pairs.
    pub order: PairOrder,
}

/// Returns the costs of a kernel in a call with this work, interpolated between two counted costs or extrapolated from
/// the last two; `None` for a kernel without counted costs.
pub fn of_kernel(kernel: &str, work: &Work, sort: Sort) -> Option<Cost> {
    let rows = COUNTED.iter().find(|((name, of), _)| *name == kernel && (of.is_empty() || *of == sort.name()))?.1;
    let unit = work.unit(kernel);
    let (first, last) = (rows.first()?, rows.last()?);
    if unit <= first.0 || rows.len() == 1 {
        return Some(first.1);
    }
    let above = rows.iter().position(|row| row.0 >= unit).unwrap_or(rows.len() - 1);
    let (low, high) = (rows[above - 1], rows[above]);
    let share = (unit - low.0) / (high.0 - low.0);
    // Round trips grow with the logarithm.
    let of_chain = (unit / low.0).log2() / (high.0 / low.0).log2();
    // A number that fell by chance between the last two scenes does not fall further.
    let between = |a: f64, b: f64, share: f64| a + if b < a { share.min(1.0) } else { share } * (b - a);
    let (a, b) = (low.1.numbers(), high.1.numbers());
    let mut cost = Cost::from(std::array::from_fn(|k| between(a[k], b[k], share)));
    cost.chain = between(low.1.chain, high.1.chain, of_chain);
    cost.busy = between(low.1.busy, high.1.busy, share.min(1.0));
    cost.dispatches = last.1.dispatches;
    Some(cost)
}

/// Lists the kernels of a call. A test of every box against every other is in canonical order anyway.
pub fn kernels(flow: Flow) -> Vec<&'static str> {
    let takes_part = |(kernel, of): &&Key| {
        kernel.starts_with("small") == flow.tests_all_pairs
            && (of.is_empty() || *of == flow.sort.name())
            && (flow.order == PairOrder::Canonical || !kernel.starts_with("order"))
    };
    COUNTED.keys().filter(takes_part).map(|(kernel, _)| *kernel).collect()
}

impl Cost {
    /// Returns the numbers in the order of the table's columns.
    pub fn numbers(&self) -> [f64; 14] {
        [
            self.dispatches,
            self.busy,
            self.workgroups,
            self.invocations,
            self.chain,
            self.waits,
            self.barriers,
            self.operations,
            self.accesses,
            self.sectors,
            self.first_sectors,
            self.new_sectors,
            self.constants,
            self.bank_turns,
        ]
    }
}

impl From<[f64; 14]> for Cost {
    fn from(numbers: [f64; 14]) -> Self {
        let [dispatches, busy, workgroups, invocations, chain, waits, barriers, rest @ ..] = numbers;
        let [operations, accesses, sectors, first_sectors, new_sectors, constants, bank_turns] = rest;
        Self {
            dispatches,
            busy,
            workgroups,
            invocations,
            chain,
            waits,
            barriers,
            operations,
            accesses,
            sectors,
            first_sectors,
            new_sectors,
            constants,
            bank_turns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_number_in_every_column_and_units_ascend() {
        let columns = TABLE.lines().next().unwrap().split(',').count();
        assert!(TABLE.lines().all(|line| line.split(',').count() == columns));
        for (kernel, rows) in COUNTED.iter() {
            assert!(rows.iter().all(|(unit, cost)| unit.is_finite() && cost.numbers().iter().all(|n| n.is_finite())));
            assert!(rows.is_sorted_by(|a, b| a.0 < b.0), "{kernel:?}: {rows:?}");
        }
    }

    #[test]
    fn costs_between_two_counted_ones_are_between_them() {
        let at = |boxes: f64| Work { boxes, entries: 1.95 * boxes, candidates: 24.0 * boxes, pairs: 4.0 * boxes };
        let flow = Flow { tests_all_pairs: false, sort: Sort::Subgroup, order: PairOrder::Canonical };
        for kernel in kernels(flow) {
            let [low, middle, high, beyond] =
                [1e5, 2e5, 3e5, 1e7].map(|boxes| of_kernel(kernel, &at(boxes), Sort::Subgroup).unwrap().operations);
            // Loops of one scene may end a little sooner than those of a smaller one.
            let is_beyond = high <= 1.01 * beyond;
            assert!(low <= middle && middle <= high && is_beyond, "{kernel}: {low} {middle} {high} {beyond}");
        }
        assert_eq!(of_kernel("no_such_kernel", &at(1e5), Sort::Subgroup), None);
        let small = Flow { tests_all_pairs: true, ..flow };
        assert_eq!(kernels(small), ["small_emit", "small_test"]);
    }

    #[test]
    fn a_call_has_as_many_dispatches_as_the_documents_say() {
        let work = Work { boxes: 1e5, entries: 2e5, candidates: 2.4e6, pairs: 4e5 };
        for (tests_all_pairs, sort, order, expected) in [
            (true, Sort::Subgroup, PairOrder::Canonical, 2.0),
            (false, Sort::Subgroup, PairOrder::Sweep, 15.0),
            (false, Sort::Portable, PairOrder::Sweep, 23.0),
            (false, Sort::Subgroup, PairOrder::Canonical, 20.0),
        ] {
            let cost = |kernel| of_kernel(kernel, &work, sort).unwrap().dispatches;
            let flow = Flow { tests_all_pairs, sort, order };
            assert_eq!(kernels(flow).into_iter().map(cost).sum::<f64>(), expected);
        }
    }
}
