//! MuJoCo's `mj_SAP`: sweep and prune along one axis, with both ends of every box in one sorted list.
//!
//! The 2n endpoints are sorted by their coordinate. A start is tested, on the other two axes, against every box that
//! has begun and not ended, and its box joins them; an end takes its box out of them, by a search of that active list.
//! `O(n log n)` for the sort, and as many tests as boxes overlap on the axis, which grows with the square of their
//! number in a scene of fixed extent; a removal is linear in the active list.
//!
//! Source: MuJoCo, `mj_SAP` in `engine_collision_driver.c`. As there, an endpoint is a single-precision coordinate and
//! an id whose bit 16 says that it is an end, a pair is a word with one id in each half, and 65,536 boxes are too many.
//!
//! Where it differs: MuJoCo's comparison has endpoints of one coordinate equal, so which of them comes first is up to
//! its sort, and boxes that only touch on the axis may be lost. Here they are in the order of their ids, ends after
//! starts, so touching counts. MuJoCo stops as soon as its pair buffer is full, with its size for a result, whether
//! there were more pairs or not, and returns −1 where it takes no such input. Here a full buffer is an error only
//! where a pair has no place in it, and every refusal is a [`BaselineError`].

use super::list::PairList;
use super::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// The most boxes: an id is 16 bits, and 65,536 boxes are refused although they would have such ids.
pub const MOST_BOXES: usize = 0xffff;

/// The bit of an id that marks an end.
const IS_MAX: u32 = 0x1_0000;

/// An axis to sweep along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Axis 0.
    #[default]
    X,
    /// Axis 1.
    Y,
    /// Axis 2.
    Z,
}

impl Axis {
    /// All three.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];
}

/// `mj_SAP` along an axis, into a pair buffer of a given size.
#[derive(Debug)]
pub struct MjSap {
    axis: Axis,
    sweep: Sweep,
    found: PairBuffer,
}

impl MjSap {
    /// The most pairs by default: a GiB of them. MuJoCo gives it room for every two boxes, which is 8 GiB for the most
    /// boxes that it takes.
    pub const MAX_PAIRS: usize = 1 << 28;

    /// Creates a sweep along `axis` that finds at most `max_pairs` pairs. Memory for pairs is taken as they are found.
    pub fn new(axis: Axis, max_pairs: usize) -> Self {
        Self { axis, sweep: Sweep::default(), found: PairBuffer::new(NAME, max_pairs) }
    }
}

impl Default for MjSap {
    fn default() -> Self {
        Self::new(Axis::X, Self::MAX_PAIRS)
    }
}

const NAME: &str = "mj_sap";

impl Baseline for MjSap {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        refuse_too_many(NAME, boxes)?;
        self.found.clear();
        let candidates = self.sweep.run(boxes, self.axis, &mut self.found)?;
        let mut list = PairList::new(pairs);
        list.extend(self.found.signatures.iter().map(|&signature| pair_of(signature)));
        list.finish(NAME)?;
        Ok(Work { candidates, updates: 0, bytes: self.sweep.bytes() + self.found.bytes() })
    }
}

/// Refuses more boxes than 16 bits can name.
pub(super) fn refuse_too_many(algorithm: &'static str, boxes: &[Aabb]) -> Result<(), BaselineError> {
    if boxes.len() <= MOST_BOXES {
        return Ok(());
    }
    Err(BaselineError::TooManyBoxes {
        algorithm,
        box_count: boxes.len() as u64,
        most: MOST_BOXES as u64,
        reason: "a pair is packed into 32 bits, 16 for each box",
    })
}

/// Packs two ids into a word, the first into its upper half.
pub(super) fn signature(first: u32, second: u32) -> u32 {
    (first << 16) + second
}

/// Unpacks the ids of such a word.
pub(super) fn ids_of(signature: u32) -> (u32, u32) {
    (signature >> 16, signature & 0xffff)
}

/// Returns the pair of the ids in a word.
pub(super) fn pair_of(signature: u32) -> Pair {
    let (first, second) = ids_of(signature);
    Pair::new(first, second)
}

/// Packed pairs, up to a number of them.
#[derive(Debug)]
pub(super) struct PairBuffer {
    /// The found pairs, in the order of the search.
    pub(super) signatures: Vec<u32>,
    algorithm: &'static str,
    capacity: usize,
}

impl PairBuffer {
    pub(super) fn new(algorithm: &'static str, capacity: usize) -> Self {
        Self { signatures: Vec::new(), algorithm, capacity }
    }

    pub(super) fn clear(&mut self) {
        self.signatures.clear();
    }

    pub(super) fn push(&mut self, signature: u32) -> Result<(), BaselineError> {
        if self.signatures.len() >= self.capacity {
            let (algorithm, capacity) = (self.algorithm, self.capacity as u64);
            return Err(BaselineError::PairBufferFull { algorithm, capacity });
        }
        if self.signatures.len() == self.signatures.capacity() && self.signatures.try_reserve(1).is_err() {
            let (algorithm, pair_count) = (self.algorithm, self.signatures.len() as u64 + 1);
            return Err(BaselineError::ListTooLong { algorithm, pair_count });
        }
        self.signatures.push(signature);
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.signatures.capacity() * size_of::<u32>()) as u64
    }
}

/// Where a box begins or ends on the axis.
#[derive(Clone, Copy, Debug)]
struct Endpoint {
    value: f32,
    id_ismax: u32,
}

/// The sweep itself, and the two lists that it needs.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    endpoints: Vec<Endpoint>,
    /// Ids of the boxes that have begun and not ended, in the order of their starts.
    active: Vec<u32>,
}

impl Sweep {
    /// Appends every pair of `boxes` that overlaps to `found`, the one that starts first in the upper half of the
    /// word, and returns how many were tested. There are at most [`MOST_BOXES`]; invalid ones are left out.
    pub(super) fn run(&mut self, boxes: &[Aabb], axis: Axis, found: &mut PairBuffer) -> Result<u64, BaselineError> {
        let (k, others) = match axis {
            Axis::X => (0, [1, 2]),
            Axis::Y => (1, [0, 2]),
            Axis::Z => (2, [0, 1]),
        };
        self.endpoints.clear();
        for (aabb, id) in boxes.iter().zip(0..).filter(|(aabb, _)| aabb.is_valid()) {
            // −0 comes before 0 in a total order: a sum with 0 is never −0.
            self.endpoints.push(Endpoint { value: aabb.min[k] + 0.0, id_ismax: id });
            self.endpoints.push(Endpoint { value: aabb.max[k] + 0.0, id_ismax: id + IS_MAX });
        }
        // The mark of an end is above every id, so starts come before ends at the same coordinate.
        self.endpoints.sort_unstable_by(|a, b| a.value.total_cmp(&b.value).then(a.id_ismax.cmp(&b.id_ismax)));

        self.active.clear();
        let mut tests = 0;
        for endpoint in &self.endpoints {
            let id = endpoint.id_ismax & (IS_MAX - 1);
            if endpoint.id_ismax < IS_MAX {
                let own = &boxes[id as usize];
                tests += self.active.len() as u64;
                for &other in &self.active {
                    let aabb = &boxes[other as usize];
                    if others.iter().all(|&k| aabb.min[k] <= own.max[k] && own.min[k] <= aabb.max[k]) {
                        found.push(signature(other, id))?;
                    }
                }
                self.active.push(id);
            } else if let Some(at) = self.active.iter().position(|&active| active == id) {
                self.active.remove(at);
            }
        }
        Ok(tests)
    }

    /// Counts the bytes that the lists hold.
    pub(super) fn bytes(&self) -> u64 {
        (self.endpoints.capacity() * size_of::<Endpoint>() + self.active.capacity() * size_of::<u32>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::Kind;
    use broadsweep::internals::brute_force;

    fn sorted_pairs(mj_sap: &mut MjSap, boxes: &[Aabb]) -> Result<Vec<Pair>, BaselineError> {
        let mut pairs = Vec::new();
        mj_sap.find_pairs(boxes, &mut pairs)?;
        pairs.sort_unstable();
        Ok(pairs)
    }

    /// Creates boxes from intervals on x, alike on y and z.
    fn in_a_row(intervals: impl IntoIterator<Item = (f32, f32)>) -> Vec<Aabb> {
        intervals.into_iter().map(|(from, to)| Aabb::new([from, 0.0, 0.0], [to, 1.0, 1.0])).collect()
    }

    #[test]
    fn the_pairs_are_the_same_along_every_axis() {
        for kind in Kind::ALL {
            let boxes = kind.generate(700, 2);
            let expected = brute_force::find_pairs(&boxes);
            for axis in Axis::ALL {
                let pairs = sorted_pairs(&mut MjSap::new(axis, MjSap::MAX_PAIRS), &boxes).unwrap();
                assert_eq!(pairs, expected, "{kind} along {axis:?}");
            }
        }
    }

    #[test]
    fn boxes_that_touch_on_the_axis_meet_whichever_comes_first() {
        let before_after = in_a_row([(0.0, 1.0), (1.0, 2.0)]);
        let after_before = in_a_row([(1.0, 2.0), (0.0, 1.0)]);
        let zeros = in_a_row([(-1.0, -0.0), (0.0, 1.0), (0.0, -0.0)]);
        for (boxes, count) in [(before_after, 1), (after_before, 1), (zeros, 3)] {
            assert_eq!(sorted_pairs(&mut MjSap::default(), &boxes).unwrap().len(), count, "{boxes:?}");
        }
    }

    #[test]
    fn the_most_boxes_are_taken_and_one_more_is_refused() {
        let mut boxes = in_a_row((0..MOST_BOXES).map(|i| (2.0 * i as f32, 2.0 * i as f32 + 1.0)));
        // The last id has all its 16 bits set, and so has this pair its lower half.
        boxes[MOST_BOXES - 1] = boxes[0];
        let expected = [Pair { a: 0, b: 0xfffe }];
        assert_eq!(sorted_pairs(&mut MjSap::default(), &boxes).unwrap(), expected);

        boxes.push(boxes[0]);
        let mut mj_sap = MjSap::default();
        let error = sorted_pairs(&mut mj_sap, &boxes).unwrap_err();
        assert!(matches!(error, BaselineError::TooManyBoxes { box_count: 65_536, most: 65_535, .. }), "{error}");
        // And goes on.
        assert_eq!(sorted_pairs(&mut mj_sap, &boxes[..MOST_BOXES]).unwrap(), expected);
    }

    #[test]
    fn a_buffer_that_is_exactly_full_is_no_error_and_one_pair_more_is() {
        let boxes = Kind::Identical.generate(5, 1);
        assert_eq!(sorted_pairs(&mut MjSap::new(Axis::X, 10), &boxes).unwrap(), brute_force::find_pairs(&boxes));
        let mut mj_sap = MjSap::new(Axis::X, 9);
        let full = BaselineError::PairBufferFull { algorithm: "mj_sap", capacity: 9 };
        assert_eq!(sorted_pairs(&mut mj_sap, &boxes).unwrap_err(), full);
        assert_eq!(sorted_pairs(&mut mj_sap, &boxes[..4]).unwrap().len(), 6);
        // No room is enough for no pairs.
        assert_eq!(sorted_pairs(&mut MjSap::new(Axis::X, 0), &boxes[..1]).unwrap(), []);
    }

    #[test]
    fn only_boxes_that_overlap_on_the_axis_are_tested() {
        let boxes = in_a_row([(0.0, 2.0), (1.0, 3.0), (2.5, 4.0), (9.0, 9.0)]);
        let mut tested = |axis| MjSap::new(axis, 9).find_pairs(&boxes, &mut Vec::new()).unwrap().candidates;
        assert_eq!(Axis::ALL.map(&mut tested), [2, 6, 6]);
    }
}
