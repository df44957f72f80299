//! MuJoCo's `mj_broadphase`: a sweep along the principal axis of the centroids, in the frame of their covariance.
//!
//! The eigenvectors of the covariance of all centroids, the largest eigenvalue first, are a frame in which the boxes
//! are spread most along the first axis. Each box, taken into that frame, is bounded there by a box along its axes;
//! [`mj_sap`](super::mj_sap) sweeps those along the first. What it finds are the candidates of the narrow phase,
//! packed and sorted, each once. The bounds of a box that is turned are larger than it is, so there are more of them
//! than pairs, unless the frame is that of the input.
//!
//! Source: MuJoCo, `mj_broadphase` and `makeAAMM` in `engine_collision_driver.c`; its limit of 65,535 boxes is that of
//! the sweep. As there, what is not in one place, such as a plane, is not swept but a candidate with everything: here
//! that is a box with an infinite bound.
//!
//! Where it differs: MuJoCo bounds the sphere around a geom, and we the box itself, which is tighter. Its filters by
//! body and by contact type have no counterpart. And it takes a body into the frame by its centre and its radius,
//! rounded to nearest, which may part bodies that touch; see `project` in this file for what does not.

use glam::DVec3;

use super::list::PairList;
use super::mj_sap::{Axis, MjSap, PairBuffer, Sweep, ids_of, pair_of, refuse_too_many, signature};
use super::{Baseline, BaselineError, Work};
use broadsweep::internals::mirror::frame::jacobi;
use broadsweep::{Aabb, Pair};

const NAME: &str = "mj_broadphase";

/// `mj_broadphase`, and the exact test of its candidates.
#[derive(Debug)]
pub struct MjBroadphase {
    /// Ids of the boxes that are swept.
    ids: Vec<u32>,
    /// Their bounds in the frame, in the same order.
    turned: Vec<Aabb>,
    sweep: Sweep,
    /// The pairs that the sweep finds, by places in `ids`.
    swept: PairBuffer,
    /// The candidates, by ids.
    candidates: PairBuffer,
}

impl Default for MjBroadphase {
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            turned: Vec::new(),
            sweep: Sweep::default(),
            swept: PairBuffer::new(NAME, MjSap::MAX_PAIRS),
            candidates: PairBuffer::new(NAME, MjSap::MAX_PAIRS),
        }
    }
}

impl MjBroadphase {
    /// Finds what `mj_broadphase` hands to the narrow phase: for every two boxes that overlap, and for some that do
    /// not, the word `(a << 16) + b` with `a < b`, ascending, each once. Invalid boxes are in none.
    ///
    /// # Errors
    /// [`BaselineError::TooManyBoxes`] beyond 65,535 boxes, [`BaselineError::PairBufferFull`] beyond
    /// [`MjSap::MAX_PAIRS`] candidates.
    pub fn candidates(&mut self, boxes: &[Aabb]) -> Result<&[u32], BaselineError> {
        self.search(boxes)?;
        Ok(&self.candidates.signatures)
    }

    /// Finds the candidates. Returns how many pairs were tested in the frame, or never parted by anything.
    fn search(&mut self, boxes: &[Aabb]) -> Result<u64, BaselineError> {
        refuse_too_many(NAME, boxes)?;
        self.ids.clear();
        self.turned.clear();
        self.swept.clear();
        self.candidates.clear();

        for (aabb, id) in boxes.iter().zip(0..).filter(|(aabb, _)| aabb.is_valid()) {
            if is_bounded(aabb) {
                self.ids.push(id);
                continue;
            }
            // Two such boxes meet twice.
            for (other, other_id) in boxes.iter().zip(0..).filter(|(_, other_id)| *other_id != id) {
                if other.is_valid() {
                    self.candidates.push(signature(id.min(other_id), id.max(other_id)))?;
                }
            }
        }
        let everywhere = self.candidates.signatures.len() as u64;

        let frame = principal_frame(self.ids.iter().map(|&id| &boxes[id as usize]));
        self.turned.extend(self.ids.iter().map(|&id| turned(&boxes[id as usize], &frame)));
        let tests = self.sweep.run(&self.turned, Axis::X, &mut self.swept)?;
        for &found in &self.swept.signatures {
            let (first, second) = ids_of(found);
            let (a, b) = (self.ids[first as usize], self.ids[second as usize]);
            self.candidates.push(signature(a.min(b), a.max(b)))?;
        }
        self.candidates.signatures.sort_unstable();
        self.candidates.signatures.dedup();
        Ok(tests + everywhere)
    }

    fn bytes(&self) -> u64 {
        let lists = self.ids.capacity() * size_of::<u32>() + self.turned.capacity() * size_of::<Aabb>();
        lists as u64 + self.sweep.bytes() + self.swept.bytes() + self.candidates.bytes()
    }
}

impl Baseline for MjBroadphase {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        let candidates = self.search(boxes)?;
        let overlaps = |pair: &Pair| boxes[pair.a as usize].overlaps(&boxes[pair.b as usize]);
        let mut list = PairList::new(pairs);
        list.extend(self.candidates.signatures.iter().map(|&signature| pair_of(signature)).filter(overlaps));
        list.finish(NAME)?;
        Ok(Work { candidates, updates: 0, bytes: self.bytes() })
    }
}

/// Returns whether a valid box has no infinite bound.
fn is_bounded(aabb: &Aabb) -> bool {
    aabb.min.iter().chain(&aabb.max).all(|x| x.is_finite())
}

/// Returns the eigenvectors of the covariance of the centroids of bounded boxes, the largest eigenvalue first.
fn principal_frame<'a>(boxes: impl Iterator<Item = &'a Aabb> + Clone) -> [DVec3; 3] {
    // Double precision holds the squares of all that is finite in single precision, as in MuJoCo.
    let corner = |corner: [f32; 3]| DVec3::from(corner.map(f64::from));
    let centroids = boxes.map(|aabb| 0.5 * (corner(aabb.min) + corner(aabb.max)));
    let count = centroids.clone().count().max(1) as f64;
    let centre = centroids.clone().sum::<DVec3>() / count;
    let mut covariance = [DVec3::ZERO; 3];
    for from_centre in centroids.map(|centroid| centroid - centre) {
        for (row, x) in covariance.iter_mut().zip(from_centre.to_array()) {
            *row += x / count * from_centre;
        }
    }
    // To 1 at most: the eigenvectors stay, and single precision has it.
    let largest = covariance.iter().map(|row| row.abs().max_element()).fold(f64::MIN_POSITIVE, f64::max);
    let (values, vectors) = jacobi(covariance.map(|row| (row / largest).as_vec3().to_array()), 0.0);
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
    order.map(|k| vectors[k].as_dvec3())
}

/// Returns the bounds of a bounded box along the axes of a frame.
fn turned(aabb: &Aabb, frame: &[DVec3; 3]) -> Aabb {
    let intervals = frame.map(|direction| project(aabb, direction));
    Aabb::new(intervals.map(|(from, _)| from), intervals.map(|(_, to)| to))
}

/// Returns the interval of a bounded box on a direction: the sum of the products with the corner that is lowest along
/// it, and the sum with the highest.
///
/// Intervals of boxes that share a point overlap, whatever is rounded: every product, every sum and the rounding to
/// single precision is monotone, so the projection of the shared point is in both. The centre and the radius of a box
/// have no such order. Double precision cannot overflow here, and what is beyond single precision becomes infinite,
/// where all intervals meet.
fn project(aabb: &Aabb, direction: DVec3) -> (f32, f32) {
    let (mut from, mut to) = (0.0, 0.0);
    for (k, d) in direction.to_array().into_iter().enumerate() {
        let (lower, upper) = if d > 0.0 { (aabb.min[k], aabb.max[k]) } else { (aabb.max[k], aabb.min[k]) };
        from += d * f64::from(lower);
        to += d * f64::from(upper);
    }
    (from as f32, to as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::Kind;
    use broadsweep::internals::brute_force;

    #[test]
    fn candidates_are_ascending_unique_and_have_every_pair() {
        for kind in Kind::ALL {
            for n in [2, 60, 700] {
                let boxes = kind.generate(n, 3);
                let mut broadphase = MjBroadphase::default();
                let candidates = broadphase.candidates(&boxes).unwrap();
                assert!(candidates.is_sorted_by(|a, b| a < b), "{kind}");
                for pair in brute_force::find_pairs(&boxes) {
                    let found = candidates.binary_search(&signature(pair.a, pair.b));
                    assert!(found.is_ok(), "{kind}:{n} lacks {pair:?}");
                }
            }
        }
    }

    #[test]
    fn an_oblique_frame_has_more_candidates_than_pairs() {
        let boxes = Kind::Diagonal.generate(2000, 1);
        let candidate_count = MjBroadphase::default().candidates(&boxes).unwrap().len();
        let pair_count = brute_force::find_pairs(&boxes).len();
        assert!(candidate_count > pair_count, "{candidate_count} candidates, {pair_count} pairs");
    }

    #[test]
    fn a_rod_is_swept_along_itself() {
        let boxes = Kind::Diagonal.generate(2000, 1);
        let [along, ..] = principal_frame(boxes.iter());
        let rod = DVec3::new(1.0, 0.75, 0.5).normalize();
        assert!(along.dot(rod).abs() > 0.999, "{along}");
        let tests = MjBroadphase::default().find_pairs(&boxes, &mut Vec::new()).unwrap().candidates;
        let all = 2000 * 1999 / 2;
        assert!(tests < all / 10, "{tests} of {all}");
    }

    #[test]
    fn boxes_that_touch_at_a_corner_meet_in_every_frame() {
        // Two boxes with a corner in common, and a third that turns the frame.
        for i in 0..500u32 {
            let x = |k: u32| 0.1 + (i * 7 + k * 13 + 1) as f32 * 0.37 % 1.0;
            let shared = [x(0), x(1), x(2)];
            let boxes = [
                Aabb::new([-x(3), -x(4), -x(5)], shared),
                Aabb::new(shared, shared.map(|c| c + x(6))),
                Aabb::new([9.0 * x(7), 9.0 * x(8), -9.0 * x(9)], [9.0, 9.0, 9.0]),
            ];
            assert!(MjBroadphase::default().candidates(&boxes).unwrap().contains(&1), "{boxes:?}");
        }
    }

    #[test]
    fn a_box_without_end_is_a_candidate_with_every_valid_one() {
        let mut boxes = Kind::Uniform.generate(50, 1);
        boxes[20] = Aabb::new([9.0, 9.0, f32::NEG_INFINITY], [9.0, 9.0, 9.0]);
        boxes[30] = Aabb::new([8.0; 3], [f32::INFINITY; 3]);
        boxes[40].min[1] = f32::NAN;
        let mut broadphase = MjBroadphase::default();
        let candidates = broadphase.candidates(&boxes).unwrap();
        for id in [20, 30] {
            let with =
                candidates.iter().map(|&signature| pair_of(signature)).filter(|pair| pair.a == id || pair.b == id);
            assert_eq!(with.count(), 48);
        }
        assert!(candidates.iter().map(|&signature| pair_of(signature)).all(|pair| pair.a != 40 && pair.b != 40));
    }

    #[test]
    fn one_box_more_than_it_takes_is_refused_by_name() {
        let error = MjBroadphase::default().candidates(&Kind::Line.generate(0x1_0000, 1)).unwrap_err();
        assert!(error.to_string().starts_with("mj_broadphase takes at most 65535 boxes"), "{error}");
    }
}
