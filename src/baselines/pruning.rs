//! Box pruning: boxes sorted by their minimum on x, each against those after it until one starts past its end.
//!
//! Source: PhysX's box pruning (`ABP`, and within the regions of its `MBP`). It has no structure but the sorted list,
//! needs no active list, and tests `y` and `z` of whatever overlaps on `x`: `O(n log n)` for the sort, and as many
//! tests as boxes overlap on `x`, which grows with the square of their number in a scene of fixed extent.

use super::{Baseline, BaselineError, Work};
use crate::{Aabb, Pair};

/// Box pruning along x.
#[derive(Debug, Default)]
pub struct Pruning {
    /// Valid boxes by their minimum on x.
    sorted: Vec<(Aabb, u32)>,
}

impl Baseline for Pruning {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        self.sorted.clear();
        self.sorted.extend(boxes.iter().copied().zip(0..).filter(|(aabb, _)| aabb.is_valid()));
        // Valid boxes have no NaN. `partial_cmp` has −0 equal to 0, which `total_cmp` has not.
        self.sorted.sort_by(|a, b| a.0.min[0].partial_cmp(&b.0.min[0]).expect("no NaN"));
        let mut work = Work { bytes: (self.sorted.capacity() * size_of::<(Aabb, u32)>()) as u64, ..Work::default() };
        for (at, (own, i)) in self.sorted.iter().enumerate() {
            for (other, j) in &self.sorted[at + 1..] {
                if other.min[0] > own.max[0] {
                    break;
                }
                work.candidates += 1;
                if (1..3).all(|k| own.min[k] <= other.max[k] && other.min[k] <= own.max[k]) {
                    pairs.push(Pair::new(*i, *j));
                }
            }
        }
        Ok(work)
    }
}
