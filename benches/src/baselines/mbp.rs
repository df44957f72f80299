//! Multi-box pruning: the bounds of all boxes cut into regions again and again, and box pruning in each of them.
//!
//! The bounds of all boxes are cut into four at their middle, and so is every region, until few boxes are left in it.
//! A box is in every region that it reaches, one on a cut in both. Within a region boxes are sorted and
//! [pruned](super::pruning); two that share several regions are found in each, and a hash set keeps them once. Only
//! pairs of boxes that are both in several regions are looked up in it: no others can be found again.
//!
//! Source: PhysX's `MBP`, as PhysX 3.3 brought it. There the user gives the regions, or the bounds of the world and the
//! axis that is not cut; here bounds are those of the boxes, and a region is cut across its two longest edges and
//! pruned along its longest. Before it is cut, it shrinks to what its boxes have in it, and where all of them reach one
//! of its parts, to that one: empty space costs nothing, nor does a box around all others. And it stays whole where its
//! parts would together have more than five quarters of its boxes, or squares of their numbers that come to no less
//! than its own: so boxes that are all alike are one region, and all regions together never have more tests to do than
//! the one of all boxes has in the worst case.
//!
//! Any cuts keep all pairs: boxes that overlap share a point, which is on one side of each cut or on it, and both boxes
//! are on that side. Infinite boxes need no special case: they reach every region, and are only left out of the bounds.

use super::list::{PairList, PairSet};
use super::pruning::{Member, members, prune};
use super::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// Multi-box pruning.
#[derive(Debug)]
pub struct Mbp {
    region_boxes: usize,
    max_depth: u32,
    /// Boxes of the region that is looked at, after those of the regions that it is a part of.
    members: Vec<Member>,
    /// True if each box has been put into several regions.
    is_in_several: Vec<bool>,
    /// Pairs of two such boxes.
    seen: PairSet,
    regions: u64,
}

impl Mbp {
    /// Boxes that are not worth another cut, by default: below, sorting them into regions takes longer than the
    /// tests that are saved.
    pub const REGION_BOXES: usize = 256;
    /// The most cuts one after another, by default. Six do for a million boxes that are evenly spread; the others are
    /// for clusters, for boxes around all others, and for outliers of which each is far beyond the one before.
    pub const MAX_DEPTH: u32 = 64;

    /// Creates multi-box pruning that cuts regions of more than `region_boxes` boxes, at most `max_depth` times.
    pub fn new(region_boxes: usize, max_depth: u32) -> Self {
        let (members, is_in_several, seen) = Default::default();
        Self { region_boxes, max_depth, members, is_in_several, seen, regions: 0 }
    }

    /// Counts the regions that boxes were pruned in, in the last step.
    pub fn region_count(&self) -> u64 {
        self.regions
    }

    /// Searches the region of the members from `first` on, and removes these members. Returns how many pairs were
    /// tested.
    fn search(&mut self, first: usize, region: Region, depth: u32, pairs: &mut PairList) -> u64 {
        let region = region.shrunk_to(&self.members[first..]);
        let mut tests = 0;
        match self.plan(first, &region, depth) {
            Plan::Narrow(part) => return self.search(first, part, depth + 1, pairs),
            Plan::Cut(cuts) => {
                let own = first..self.members.len();
                // Before any part is searched: its pairs query it.
                for (aabb, i) in &self.members[own.clone()] {
                    self.is_in_several[*i as usize] |= cuts.reached_by(aabb) > 1;
                }
                for quarter in 0..4 {
                    let begin = self.members.len();
                    for at in own.clone() {
                        if cuts.reaches(&self.members[at].0, quarter) {
                            self.members.push(self.members[at]);
                        }
                    }
                    tests += self.search(begin, cuts.part(&region, quarter), depth + 1, pairs);
                }
            }
            Plan::Prune => {
                self.regions += 1;
                let [longest, ..] = region.longest_edges();
                tests = prune(&mut self.members[first..], longest, |pair| {
                    let may_repeat = self.is_in_several[pair.a as usize] && self.is_in_several[pair.b as usize];
                    if !may_repeat || self.seen.insert(pair) {
                        pairs.push(pair);
                    }
                });
            }
        }
        self.members.truncate(first);
        tests
    }

    /// Decides what to do with the region of the members from `first` on.
    fn plan(&self, first: usize, region: &Region, depth: u32) -> Plan {
        let own = &self.members[first..];
        if own.len() <= self.region_boxes || depth >= self.max_depth || region.is_empty() {
            return Plan::Prune;
        }
        let cuts = Cuts::through_the_middle(region);
        let counts: [usize; 4] =
            std::array::from_fn(|quarter| own.iter().filter(|(aabb, _)| cuts.reaches(aabb, quarter as u32)).count());
        // Copies are sorted, tested and looked up again. With half as many as boxes instead of a quarter, dense
        // clusters take a fifth to two fifths longer; with a tenth, boxes in a cube a third.
        if 4 * counts.iter().sum::<usize>() > 5 * own.len() {
            return Plan::Prune;
        }
        if let Some(quarter) = counts.iter().position(|&count| count == own.len()) {
            let part = cuts.part(region, quarter as u32);
            // Between two neighbours there is no middle.
            return if part == *region { Plan::Prune } else { Plan::Narrow(part) };
        }
        let square = |count: usize| (count as u128).pow(2);
        if counts.into_iter().map(square).sum::<u128>() < square(own.len()) { Plan::Cut(cuts) } else { Plan::Prune }
    }
}

/// The plan for a region.
enum Plan {
    /// All boxes are in this part, and so are all pairs.
    Narrow(Region),
    Cut(Cuts),
    Prune,
}

impl Default for Mbp {
    fn default() -> Self {
        Self::new(Self::REGION_BOXES, Self::MAX_DEPTH)
    }
}

impl Baseline for Mbp {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        self.seen.clear();
        self.regions = 0;
        self.is_in_several.clear();
        self.is_in_several.resize(boxes.len(), false);
        self.members.clear();
        self.members.extend(members(boxes));
        let mut list = PairList::new(pairs);
        let candidates = self.search(0, Region::EVERYWHERE, 0, &mut list);
        list.finish("mbp").and(self.seen.check("mbp"))?;
        let bytes = self.members.capacity() * size_of::<Member>() + self.is_in_several.capacity() + self.seen.bytes();
        Ok(Work { candidates, updates: 0, bytes: bytes as u64 })
    }
}

/// The bounds of a region; the answer does not depend on them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Region(Aabb);

impl Region {
    const EVERYWHERE: Self = Self(Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]));

    /// Returns the bounds of the parts of finite boxes that lie in the region.
    fn shrunk_to(self, members: &[Member]) -> Self {
        let mut bounds = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for (aabb, _) in members.iter().filter(|(aabb, _)| aabb.min.iter().chain(&aabb.max).all(|x| x.is_finite())) {
            for k in 0..3 {
                bounds.min[k] = bounds.min[k].min(aabb.min[k].max(self.0.min[k]));
                bounds.max[k] = bounds.max[k].max(aabb.max[k].min(self.0.max[k]));
            }
        }
        Self(bounds)
    }

    /// Returns whether no finite box is in the region.
    fn is_empty(&self) -> bool {
        !self.0.is_valid()
    }

    /// Returns the middle of the region on an axis. Halves are added, since the whole sum may overflow. The half of a
    /// denormal is rounded, so the result may be outside.
    fn middle(&self, k: usize) -> f32 {
        (0.5 * self.0.min[k] + 0.5 * self.0.max[k]).clamp(self.0.min[k], self.0.max[k])
    }

    /// Returns the axes, the one of the longest edge first.
    fn longest_edges(&self) -> [usize; 3] {
        let edge = |k: usize| 0.5 * self.0.max[k] - 0.5 * self.0.min[k];
        let mut axes = [0, 1, 2];
        axes.sort_by(|&i, &j| edge(j).total_cmp(&edge(i)));
        axes
    }
}

/// Two planes that cut a region into four parts.
#[derive(Clone, Copy, Debug)]
struct Cuts {
    axes: [usize; 2],
    at: [f32; 2],
}

impl Cuts {
    /// Cuts across the two longest edges.
    fn through_the_middle(region: &Region) -> Self {
        let [first, second, _] = region.longest_edges();
        Self { axes: [first, second], at: [region.middle(first), region.middle(second)] }
    }

    /// Returns whether a box reaches a part. Bit `c` of the number of the part says that the part is past cut `c`; the
    /// cut itself is in both parts.
    fn reaches(&self, aabb: &Aabb, quarter: u32) -> bool {
        (0..2).all(|c| {
            let k = self.axes[c];
            if quarter >> c & 1 == 0 { aabb.min[k] <= self.at[c] } else { aabb.max[k] >= self.at[c] }
        })
    }

    /// Counts the parts that a box reaches.
    fn reached_by(&self, aabb: &Aabb) -> usize {
        (0..4).filter(|&quarter| self.reaches(aabb, quarter)).count()
    }

    /// Returns the bounds of a part.
    fn part(&self, region: &Region, quarter: u32) -> Region {
        let mut part = region.0;
        for c in 0..2 {
            let side = if quarter >> c & 1 == 0 { &mut part.max } else { &mut part.min };
            side[self.axes[c]] = self.at[c];
        }
        Region(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::Kind;
    use broadsweep::internals::brute_force;

    fn sorted_pairs(mbp: &mut Mbp, boxes: &[Aabb]) -> Vec<Pair> {
        let mut pairs = Vec::new();
        mbp.find_pairs(boxes, &mut pairs).unwrap();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn small_regions_have_the_same_pairs_as_large_ones() {
        for kind in Kind::ALL {
            let boxes = kind.generate(700, 2);
            let expected = brute_force::find_pairs(&boxes);
            for (region_boxes, max_depth) in [(0, 0), (0, 6), (2, 24), (20, 24), (usize::MAX, u32::MAX)] {
                let pairs = sorted_pairs(&mut Mbp::new(region_boxes, max_depth), &boxes);
                assert_eq!(pairs, expected, "{kind}, {region_boxes} boxes, depth {max_depth}");
            }
        }
    }

    #[test]
    fn a_pair_in_several_regions_is_found_once() {
        // Four quarters of sixteen boxes, and two boxes over the middle of all.
        let mut boxes: Vec<Aabb> = (0..64)
            .map(|i| {
                let corner = [(i % 8) as f32, (i / 8) as f32, 0.0];
                Aabb::new(corner, corner.map(|x| x + 0.5))
            })
            .collect();
        boxes.extend([Aabb::new([3.6, 3.6, 0.0], [3.9, 3.9, 0.5]); 2]);
        let mut mbp = Mbp::new(20, 1);
        assert_eq!(sorted_pairs(&mut mbp, &boxes), [Pair { a: 64, b: 65 }]);
        assert_eq!(mbp.region_count(), 4);
    }

    #[test]
    fn boxes_that_are_all_alike_stay_in_one_region() {
        let mut mbp = Mbp::new(2, u32::MAX);
        for boxes in [Kind::Identical.generate(300, 1), vec![Aabb::new([7.0; 3], [7.0; 3]); 300]] {
            assert_eq!(sorted_pairs(&mut mbp, &boxes).len(), 300 * 299 / 2);
            assert_eq!(mbp.region_count(), 1);
        }
    }

    #[test]
    fn boxes_without_end_meet_all_others_in_every_region() {
        const INF: f32 = f32::INFINITY;
        let mut boxes = Kind::Uniform.generate(5000, 1);
        boxes[3] = Aabb::new([-INF; 3], [INF; 3]);
        boxes[500] = Aabb::new([-INF; 3], [INF; 3]);
        let mut mbp = Mbp::default();
        assert_eq!(sorted_pairs(&mut mbp, &boxes), brute_force::find_pairs(&boxes));
        assert!(mbp.region_count() > 20);
        // And alone, where nothing bounds them.
        let alone = [boxes[3]; 50];
        assert_eq!(sorted_pairs(&mut mbp, &alone).len(), 50 * 49 / 2);
    }

    #[test]
    fn outliers_and_giants_do_not_keep_the_others_in_one_region() {
        let mut boxes = Kind::Uniform.generate(5000, 1);
        let alone = Mbp::default().find_pairs(&boxes, &mut Vec::new()).unwrap().candidates;
        boxes.push(Aabb::new([1e9; 3], [1e9; 3]));
        boxes.push(Aabb::new([-1e9; 3], [7.0; 3]));
        boxes.push(Aabb::new([-9.0; 3], [1e8; 3]));
        let with_others = Mbp::default().find_pairs(&boxes, &mut Vec::new()).unwrap().candidates;
        assert!(with_others < 2 * alone, "{with_others} tests instead of {alone}");
    }

    #[test]
    fn a_region_between_neighbouring_numbers_is_cut_no_further() {
        for low in [1.0f32.next_up(), f32::from_bits(1), f32::from_bits(3)] {
            let high = low.next_up();
            let mut boxes = vec![Aabb::new([low; 3], [low; 3]); 100];
            boxes.extend([Aabb::new([low; 3], [high; 3]); 2]);
            let mut mbp = Mbp::new(2, u32::MAX);
            assert_eq!(sorted_pairs(&mut mbp, &boxes), brute_force::find_pairs(&boxes));
        }
    }

    #[test]
    fn regions_spare_tests() {
        let boxes = Kind::Uniform.generate(5000, 1);
        let cut = Mbp::default().find_pairs(&boxes, &mut Vec::new()).unwrap().candidates;
        let whole = Mbp::new(usize::MAX, 0).find_pairs(&boxes, &mut Vec::new()).unwrap().candidates;
        assert!(4 * cut < whole, "{cut} tests instead of {whole}");
    }
}
