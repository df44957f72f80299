//! Cuts a scene into slabs, and copies the boxes of each slab.
//!
//! The cuts are coordinates on one axis. A slab begins at its cut and ends before the next cut. A box is in each slab
//! from the slab of its lower bound to the slab of its upper bound. Two overlapping boxes both contain the larger of
//! their lower bounds, so the slab of this coordinate has both boxes. One of the boxes begins in this slab. In all
//! other slabs with both boxes, neither box begins. So only this slab reports the pair.

use std::ops::RangeInclusive;

use crate::{Aabb, Error};

/// The most copies in slabs per box, on average. A scene with more copies is refused, since further cuts do not help.
const MOST_COPIES: u64 = 16;

/// A scene cut into slabs that each fit one pass.
#[derive(Debug, PartialEq)]
pub(super) struct Slabs {
    pub axis: usize,
    /// The lower bounds of all slabs except the first slab, ascending.
    cuts: Vec<f32>,
    /// The box count of each slab.
    pub counts: Vec<u64>,
}

/// The origin of a box of a slab.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// The index of the box in the input.
    pub index: u32,
    /// `true` if its lower bound is in the slab.
    pub begins: bool,
}

impl Slabs {
    /// Creates slabs of at most `most` boxes, along the axis with the fewest copies of boxes. Returns `None` if no axis
    /// can be cut into such slabs.
    pub fn new(boxes: &[Aabb], most: u64) -> Option<Self> {
        (0..3).filter_map(|axis| Self::along(axis, boxes, most)).min_by_key(Self::copies)
    }

    /// Cuts each slab with too many boxes at quantiles of the lower bounds in it, until all slabs fit. The loop ends,
    /// since each cut has lower bounds on both sides.
    fn along(axis: usize, boxes: &[Aabb], most: u64) -> Option<Self> {
        if most == 0 {
            return None;
        }
        let mut slabs = Self { axis, cuts: Vec::new(), counts: Vec::new() };
        loop {
            slabs.count(boxes);
            if slabs.counts.iter().all(|&count| count <= most) {
                return Some(slabs);
            }
            if slabs.copies() > MOST_COPIES * boxes.len() as u64 {
                return None;
            }
            let mut starts = vec![Vec::new(); slabs.counts.len()];
            for aabb in boxes.iter().filter(|aabb| aabb.is_valid()) {
                let slab = slabs.at(aabb.min[axis]);
                if slabs.counts[slab] > most {
                    starts[slab].push(aabb.min[axis]);
                }
            }
            let full = starts.into_iter().zip(&slabs.counts).filter(|&(_, &count)| count > most);
            let new = full.map(|(starts, count)| {
                // A sixteenth more parts than needed, since some boxes are in several slabs.
                let parts = (count + count / 16) / most + 1;
                cuts_between(starts, parts as usize)
            });
            let new: Vec<f32> = new.collect::<Option<Vec<_>>>()?.concat();
            slabs.cuts.extend(new);
            slabs.cuts.sort_unstable_by(f32::total_cmp);
        }
    }

    /// Returns the slab of a coordinate.
    fn at(&self, coordinate: f32) -> usize {
        self.cuts.partition_point(|&cut| cut <= coordinate)
    }

    /// Returns the slabs of a valid box.
    fn of(&self, aabb: &Aabb) -> RangeInclusive<usize> {
        self.at(aabb.min[self.axis])..=self.at(aabb.max[self.axis])
    }

    fn count(&mut self, boxes: &[Aabb]) {
        // Count the boxes that begin in each slab, and the boxes that ended in the slab before.
        let mut begun = vec![0u64; self.cuts.len() + 1];
        let mut ended = vec![0u64; self.cuts.len() + 2];
        for aabb in boxes.iter().filter(|aabb| aabb.is_valid()) {
            let slabs = self.of(aabb);
            begun[*slabs.start()] += 1;
            ended[*slabs.end() + 1] += 1;
        }
        let mut inside = 0;
        let counts = begun.iter().zip(&ended).map(|(begun, ended)| {
            inside = inside + begun - ended;
            inside
        });
        self.counts = counts.collect();
    }

    /// Returns the sum of the box counts of all slabs.
    fn copies(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the boxes of one slab in the order of the input, with their origins.
    pub fn boxes(&self, slab: usize, boxes: &[Aabb]) -> Result<(Vec<Aabb>, Vec<Origin>), Error> {
        let count = self.counts[slab] as usize;
        let (mut inside, mut origins) = (Vec::new(), Vec::new());
        let bytes = (count * (size_of::<Aabb>() + size_of::<Origin>())) as u64;
        inside
            .try_reserve_exact(count)
            .and_then(|()| origins.try_reserve_exact(count))
            .map_err(|_| Error::OutOfMemory { buffer: "a slab's boxes on the host".to_owned(), bytes })?;
        for (index, aabb) in boxes.iter().enumerate().filter(|(_, aabb)| aabb.is_valid()) {
            let slabs = self.of(aabb);
            if slabs.contains(&slab) {
                inside.push(*aabb);
                origins.push(Origin { index: index as u32, begins: *slabs.start() == slab });
            }
        }
        Ok((inside, origins))
    }
}

/// Returns coordinates that cut these lower bounds into about `parts` equal parts, with bounds on both sides of each
/// cut. `None` if all bounds are equal.
fn cuts_between(mut starts: Vec<f32>, parts: usize) -> Option<Vec<f32>> {
    starts.sort_unstable_by(f32::total_cmp);
    let first = *starts.first()?;
    let quantile = |part: usize| starts[(starts.len() as u128 * part as u128 / parts as u128) as usize];
    let mut cuts: Vec<f32> = (1..parts).map(quantile).filter(|&cut| cut > first).collect();
    // Compare numbers, not bits, since -0 equals 0.
    cuts.dedup();
    if cuts.is_empty() {
        cuts.push(*starts.get(starts.partition_point(|&start| start <= first))?);
    }
    Some(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pair;
    use crate::cpu::brute_pairs;

    /// Returns scenes with the kinds of boxes that a cut can meet, by name.
    fn scenes() -> [(&'static str, Vec<Aabb>); 7] {
        let mut state = 1u32;
        let mut unit = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let mut cubes = |edge: f32, spread: f32| -> Vec<Aabb> {
            let at = |_| [unit(), unit(), unit()].map(|x| x * spread);
            (0..600).map(at).map(|p| Aabb::new(p, p.map(|x| x + edge))).collect()
        };
        let [small, large, points, dense] = [(0.1, 1.0), (0.5, 1.0), (0.0, 1.0), (0.1, 0.2)].map(|(e, s)| cubes(e, s));
        let lattice = (0..600).map(|i| [i % 8, i / 8 % 8, i / 64].map(|k| k as f32));
        let mut unbounded = small.clone();
        unbounded[7] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
        unbounded[8] = Aabb::new([f32::NEG_INFINITY, 0.4, 0.4], [f32::INFINITY, 0.6, 0.6]);
        unbounded[9] = Aabb::new([0.5; 3], [f32::INFINITY; 3]);
        let mut invalid = small.clone();
        invalid.iter_mut().step_by(16).for_each(|aabb| aabb.min[1] = f32::NAN);
        invalid.iter_mut().skip(8).step_by(16).for_each(|aabb| aabb.max[2] = -1.0);
        [
            ("small", small),
            ("large", large),
            ("points", points),
            ("two sizes", [&cubes(0.02, 1.0)[..300], &dense[..300]].concat()),
            ("touching", lattice.map(|p| Aabb::new(p, p.map(|x| x + 1.0))).collect()),
            ("unbounded", unbounded),
            ("invalid", invalid),
        ]
    }

    #[test]
    fn of_the_slabs_that_hold_a_pair_one_reports_it() {
        for (name, boxes) in scenes() {
            for axis in 0..3 {
                for most in [599, 300, 200, 50] {
                    let Some(slabs) = Slabs::along(axis, &boxes, most) else {
                        continue;
                    };
                    let mut found = Vec::new();
                    for slab in 0..slabs.counts.len() {
                        let (inside, origins) = slabs.boxes(slab, &boxes).unwrap();
                        assert_eq!(inside.len() as u64, slabs.counts[slab]);
                        assert!(inside.len() as u64 <= most && origins.is_sorted_by_key(|origin| origin.index));
                        found.extend(brute_pairs::find_pairs(&inside).iter().filter_map(|pair| {
                            let (a, b) = (origins[pair.a as usize], origins[pair.b as usize]);
                            (a.begins || b.begins).then_some(Pair { a: a.index, b: b.index })
                        }));
                    }
                    found.sort_unstable();
                    assert!(found == brute_pairs::find_pairs(&boxes), "{name}, axis {axis}, {most} boxes");
                }
            }
        }
    }

    #[test]
    fn scenes_that_no_cut_divides_are_refused() {
        let identical = vec![Aabb::new([0.0; 3], [1.0; 3]); 100];
        assert_eq!(Slabs::new(&identical, 99), None);
        assert_eq!(Slabs::new(&identical, 0), None);
        // -0 and 0 are the same coordinate.
        let zeros: Vec<Aabb> = [-0.0, 0.0].map(|zero| Aabb::new([zero; 3], [0.0; 3])).repeat(50);
        assert_eq!(Slabs::new(&zeros, 99), None);
        // Each box contains the lower corners of all later boxes.
        let nested: Vec<Aabb> = (0..100).map(|i| Aabb::new([i as f32; 3], [f32::INFINITY; 3])).collect();
        assert_eq!(Slabs::new(&nested, 60), None);
        // All boxes except one begin at one point.
        let mut one_off = identical.clone();
        one_off[70].min[1] = 0.5;
        assert_eq!(Slabs::new(&one_off, 98), None);
        one_off[70] = Aabb::new([0.0, 2.0, 0.0], [1.0, 3.0, 1.0]);
        assert_eq!(Slabs::new(&one_off, 99), Some(Slabs { axis: 1, cuts: vec![2.0], counts: vec![99, 1] }));
    }

    #[test]
    fn the_cuts_are_where_the_fewest_boxes_are_in_several_slabs() {
        // Sticks along x, whose starts are equally dense on every axis.
        let at = |i: usize| [i, i * 37 % 1000, i * 71 % 1000].map(|k| k as f32);
        let sticks: Vec<Aabb> =
            (0..1000).map(at).map(|p| Aabb::new(p, [p[0] + 300.0, p[1] + 5.0, p[2] + 9.0])).collect();
        let slabs = Slabs::new(&sticks, 400).unwrap();
        assert_eq!(slabs.axis, 1);
        assert!(slabs.counts.len() == 3 && slabs.copies() <= 1000 + 2 * 5, "{slabs:?}");
    }
}
