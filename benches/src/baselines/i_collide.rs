//! I-COLLIDE's sweep and prune: three lists that insertion sort keeps sorted, and pairs that change where it swaps.
//!
//! The boxes' endpoints on x, y and z lie in a list each, in the order of the step before. Insertion sort puts them in
//! order again, and swaps exactly the endpoints that passed each other. Where a start passes an end, two boxes begin to
//! overlap on that axis, and are a pair if they now overlap on all three; where an end passes a start, the boxes cease
//! to overlap, and are no pair. With small motion few endpoints pass each other, and a step costs little more than
//! `O(n)`; with large motion there are up to `n²` swaps on each axis.
//!
//! Source: Cohen, Lin, Manocha and Ponamgi 1995, "I-COLLIDE: An Interactive and Exact Collision Detection System for
//! Large-Scale Environments". There a table has three flags for every two boxes; here the pairs alone are kept in a
//! set, and the boxes themselves tell whether two overlap or overlapped on the other axes. The first step is sorted
//! by the standard library and swept, because insertion sort would take `n²` swaps to begin with.

use super::endpoints::{Endpoint, check_count, sweep};
use super::list::{PairList, PairSet};
use super::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// Three lists that insertion sort keeps sorted, and pairs that change where it swaps.
///
/// [`Work::updates`] counts swaps. [`Work::candidates`] counts the swaps of a start and an end, each of which tests a
/// pair, and in the first step the pairs that were swept.
#[derive(Debug, Default)]
pub struct ICollide {
    /// The boxes of the step before.
    seen: Vec<Aabb>,
    /// Endpoints of the valid boxes on x, y and z, ascending.
    lists: [Vec<Endpoint>; 3],
    /// Every two valid boxes that overlap.
    pairs: PairSet,
}

const NAME: &str = "i_collide";

impl Baseline for ICollide {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        let mut work = Work::default();
        if self.seen.len() == boxes.len() && !self.many_enter(boxes) {
            self.leave_and_enter(boxes);
            for axis in 0..3 {
                self.sort(axis, boxes, &mut work);
            }
            self.seen.copy_from_slice(boxes);
        } else {
            *self = Self::default();
            check_count(NAME, boxes)?;
            work.candidates = self.start(boxes);
        }
        let mut list = PairList::new(pairs);
        list.extend(self.pairs.iter());
        self.pairs.check(NAME).and(list.finish(NAME)).inspect_err(|_| *self = Self::default())?;
        let endpoints: usize = self.lists.iter().map(Vec::capacity).sum();
        let lists = self.seen.capacity() * size_of::<Aabb>() + endpoints * size_of::<Endpoint>();
        work.bytes = (lists + self.pairs.bytes()) as u64;
        Ok(work)
    }
}

impl ICollide {
    /// Begins with the first step. Returns the number of pairs that were compared.
    fn start(&mut self, boxes: &[Aabb]) -> u64 {
        self.seen.extend(boxes);
        for (axis, list) in self.lists.iter_mut().enumerate() {
            let valid = (0..).zip(boxes).filter(|(_, aabb)| aabb.is_valid());
            list.extend(valid.flat_map(|(id, aabb)| Endpoint::interval(aabb, axis, id)));
            list.sort_unstable();
        }
        let lists = self.lists.each_ref().map(|list| || list.iter());
        sweep(lists, boxes, &mut Vec::new(), |i, j| {
            self.pairs.insert(Pair::new(i, j));
        })
    }

    /// Returns whether more than an eighth of the boxes have become valid: their insertion from the end would take
    /// about as many swaps as boxes squared, so such a step is treated like the first.
    fn many_enter(&self, boxes: &[Aabb]) -> bool {
        let entering = self.seen.iter().zip(boxes).filter(|(old, new)| !old.is_valid() && new.is_valid());
        8 * entering.count() > boxes.len()
    }

    /// Removes boxes that have become invalid from lists and pairs, and adds boxes that have become valid at the end of
    /// the lists, where they overlap nothing; insertion sort brings them to their places as if they had moved there.
    fn leave_and_enter(&mut self, boxes: &[Aabb]) {
        let seen = &self.seen;
        let has_left = |id: u32| seen[id as usize].is_valid() && !boxes[id as usize].is_valid();
        if (0..).zip(boxes).any(|(id, _)| has_left(id)) {
            self.lists.iter_mut().for_each(|list| list.retain(|endpoint| !has_left(endpoint.id())));
            self.pairs.retain(|pair| !has_left(pair.a) && !has_left(pair.b));
        }
        for ((id, old), new) in (0..).zip(&self.seen).zip(boxes) {
            if !old.is_valid() && new.is_valid() {
                for (axis, list) in self.lists.iter_mut().enumerate() {
                    list.extend(Endpoint::interval(new, axis, id));
                }
            }
        }
    }

    /// Sorts one list by insertion, after its endpoints have moved to where they are in `boxes`.
    fn sort(&mut self, axis: usize, boxes: &[Aabb], work: &mut Work) {
        let Self { seen, lists, pairs } = self;
        let list = &mut lists[axis];
        for endpoint in list.iter_mut() {
            *endpoint = endpoint.moved(axis, boxes);
        }
        for i in 1..list.len() {
            let own = list[i];
            let mut at = i;
            while at > 0 && own < list[at - 1] {
                let other = list[at - 1];
                list[at] = other;
                at -= 1;
                work.updates += 1;
                if own.is_end() == other.is_end() {
                    continue;
                }
                work.candidates += 1;
                let (a, b) = (own.id() as usize, other.id() as usize);
                if other.is_end() {
                    // A start came before an end. Another axis may have shown already that the two overlap.
                    if boxes[a].overlaps(&boxes[b]) {
                        pairs.insert(Pair::new(own.id(), other.id()));
                    }
                } else if seen[a].overlaps(&seen[b]) {
                    pairs.remove(Pair::new(own.id(), other.id()));
                }
            }
            list[at] = own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::Kind;
    use broadsweep::internals::brute_force;

    /// Counts the swaps from step `from` to step `to` of a gas, and checks the pairs.
    fn swaps(from: u32, to: u32) -> u64 {
        let (mut engine, mut pairs) = (ICollide::default(), Vec::new());
        engine.find_pairs(&Kind::Brownian.generate_step(500, 1, from), &mut pairs).unwrap();
        let boxes = Kind::Brownian.generate_step(500, 1, to);
        let work = engine.find_pairs(&boxes, &mut pairs).unwrap();
        pairs.sort_unstable();
        assert_eq!(pairs, brute_force::find_pairs(&boxes));
        work.updates
    }

    #[test]
    fn cost_falls_with_small_motion_and_grows_with_speed() {
        let counts = [100, 101, 102, 104, 108, 116].map(|to| swaps(100, to));
        assert_eq!(counts[0], 0);
        // Twice as far is nearly twice as many, until a way is as long as the world.
        assert!(counts.windows(2).all(|w| w[0] < w[1]), "{counts:?}");
        assert!(counts[2] * 10 > counts[1] * 17 && counts[4] > 5 * counts[1], "{counts:?}");
    }

    #[test]
    fn swaps_are_the_endpoints_that_passed_each_other() {
        let at = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
        let (mut engine, mut pairs) = (ICollide::default(), Vec::new());
        engine.find_pairs(&[at(0.0), at(2.0)], &mut pairs).unwrap();
        assert_eq!(pairs, []);
        // The start of the second reaches the end of the first.
        let work = engine.find_pairs(&[at(0.0), at(1.0)], &mut pairs).unwrap();
        assert_eq!((work.updates, work.candidates, pairs.len()), (1, 1, 1));
        // It goes through it: past its start, its end past both ends.
        let work = engine.find_pairs(&[at(0.0), at(-2.0)], &mut pairs).unwrap();
        assert_eq!((work.updates, work.candidates, pairs.len()), (3, 1, 0));
    }

    #[test]
    fn many_boxes_that_come_back_are_swept_and_not_inserted_one_by_one() {
        let boxes = Kind::Uniform.generate(400, 1);
        let invalid = |of: usize| {
            let mut boxes = boxes.clone();
            boxes.iter_mut().step_by(of).for_each(|aabb| aabb.min[0] = f32::NAN);
            boxes
        };
        let (mut engine, mut pairs) = (ICollide::default(), Vec::new());
        for (of, is_swept) in [(1, true), (7, true), (9, false)] {
            engine.find_pairs(&invalid(of), &mut pairs).unwrap();
            let work = engine.find_pairs(&boxes, &mut pairs).unwrap();
            assert_eq!(work.updates == 0, is_swept, "every {of}th");
            pairs.sort_unstable();
            assert_eq!(pairs, brute_force::find_pairs(&boxes));
        }
    }
}
