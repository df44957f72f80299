//! Box pruning: boxes sorted by their minimum on x, each against those after it until one starts past its end.
//!
//! Source: PhysX's box pruning (`ABP`, and within the regions of its `MBP`, here [`mbp`](super::mbp)). It has no
//! structure but the sorted list, needs no active list, and tests `y` and `z` of whatever overlaps on `x` at once,
//! instead of intersecting a list of pairs for each axis: `O(n log n)` for the sort, and as many tests as boxes overlap
//! on `x`, which grows with the square of their number in a scene of fixed extent.

use super::list::PairList;
use super::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// Box pruning along x.
#[derive(Debug, Default)]
pub struct Pruning {
    /// Valid boxes by their minimum on x.
    sorted: Vec<Member>,
}

impl Baseline for Pruning {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        self.sorted.clear();
        self.sorted.extend(members(boxes));
        let mut list = PairList::new(pairs);
        let candidates = prune(&mut self.sorted, 0, |pair| list.push(pair));
        list.finish("pruning")?;
        Ok(Work { candidates, updates: 0, bytes: (self.sorted.capacity() * size_of::<Member>()) as u64 })
    }
}

/// A valid box and its index. A copy, so that the tests go through memory in one direction.
pub(super) type Member = (Aabb, u32);

/// Returns the valid boxes, each with its index.
pub(super) fn members(boxes: &[Aabb]) -> impl Iterator<Item = Member> {
    boxes.iter().copied().zip(0..).filter(|(aabb, _)| aabb.is_valid())
}

/// Sorts the boxes along axis `k`, shows every pair that overlaps to `found`, and returns how many were tested.
pub(super) fn prune(members: &mut [Member], k: usize, mut found: impl FnMut(Pair)) -> u64 {
    // The total order has −0 before 0 and is else that of the numbers; boxes that start alike may come in any order.
    members.sort_unstable_by(|a, b| a.0.min[k].total_cmp(&b.0.min[k]));
    let others = [(k + 1) % 3, (k + 2) % 3];
    let mut tests = 0;
    for (at, (own, i)) in members.iter().enumerate() {
        for (other, j) in &members[at + 1..] {
            if other.min[k] > own.max[k] {
                break;
            }
            tests += 1;
            if others.iter().all(|&k| own.min[k] <= other.max[k] && other.min[k] <= own.max[k]) {
                found(Pair::new(*i, *j));
            }
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::Kind;
    use broadsweep::internals::brute_force;

    #[test]
    fn the_pairs_are_the_same_along_every_axis() {
        for kind in Kind::ALL {
            let boxes = kind.generate(700, 2);
            let expected = brute_force::find_pairs(&boxes);
            for k in 0..3 {
                let mut pairs = Vec::new();
                prune(&mut members(&boxes).collect::<Vec<_>>(), k, |pair| pairs.push(pair));
                pairs.sort_unstable();
                assert_eq!(pairs, expected, "{kind} along {k}");
            }
        }
    }

    #[test]
    fn a_box_is_tested_up_to_the_first_that_starts_past_its_end() {
        let interval = |(from, to)| Aabb::new([from, 0.0, 0.0], [to, 1.0, 1.0]);
        let boxes = [(4.0, 4.0), (0.0, 2.0), (2.0, 9.0), (2.5, 3.0)].map(interval);
        let mut pairs = Vec::new();
        let work = Pruning::default().find_pairs(&boxes, &mut pairs).unwrap();
        // (1, 2), which touch; (2, 3); (2, 0).
        assert_eq!(work.candidates, 3);
        assert_eq!(pairs, [Pair { a: 1, b: 2 }, Pair { a: 2, b: 3 }, Pair { a: 0, b: 2 }]);
    }

    #[test]
    fn a_box_that_starts_at_zero_meets_one_that_ends_at_minus_zero() {
        let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([-1.0; 3], [-0.0; 3]), Aabb::new([-0.0; 3], [0.0; 3])];
        let mut pairs = Vec::new();
        Pruning::default().find_pairs(&boxes, &mut pairs).unwrap();
        assert_eq!(pairs.len(), 3);
    }
}
