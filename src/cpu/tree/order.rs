//! The order of the leaves: by world, then by size class, then along a Hilbert curve.

use rayon::prelude::*;

use super::hilbert;
use super::node::ORDINARY;
use crate::Aabb;
use crate::base::constants::CHUNK;
use crate::cpu::radix;

/// Bits of the curve in the first key. Boxes that share one are sorted by the rest of theirs.
const FIRST_BITS: u32 = hilbert::BITS / 2;
/// Boxes that share a first key and are too few to be sorted by the rest.
const FEW: usize = 8;
/// Centroids that are looked at to find where most boxes are.
const SAMPLE: usize = 1 << 10;
/// How many times the extent of most boxes the curve goes through, if boxes lie so far.
const MARGIN: f64 = 8.0;

/// The part of space that the curve goes through. Centroids beyond are moved to its surface.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cube {
    low: [f64; 3],
    scale: f64,
}

/// A curve for the boxes that are of usual size, and one for those that are finite and enormous: neither spoils the other.
/// Unbounded and invalid boxes lie behind them.
#[derive(Clone, Copy, Debug)]
struct Cubes([Cube; 2]);

/// Holds the memory of the sort from one build to the next.
#[derive(Debug, Default)]
pub struct Order {
    /// The cube of the curve of usual boxes in the last sort.
    pub cube: Cube,
    items: Vec<u64>,
    other: Vec<u64>,
}

impl Order {
    /// Lists the boxes in their order, in `ids`. `worlds` has the number of each box's world, or nothing.
    pub fn sort(&mut self, boxes: &[Aabb], worlds: &[u32], ids: &mut Vec<u32>) {
        let cubes = Cubes::of(boxes);
        self.cube = cubes.0[0];
        let Self { items, other, .. } = self;
        items.resize(boxes.len(), 0);
        items.par_chunks_mut(CHUNK).zip(boxes.par_chunks(CHUNK)).enumerate().for_each(|(chunk, (items, boxes))| {
            for ((item, aabb), index) in items.iter_mut().zip(boxes).zip(chunk * CHUNK..) {
                *item = u64::from(cubes.first_key(aabb)) << 32 | index as u64;
            }
        });
        radix::sort(items, other, 32);
        refine(items, boxes, &cubes);
        if !worlds.is_empty() {
            // The sort is stable.
            items.par_iter_mut().for_each(|item| {
                let index = *item & u64::from(u32::MAX);
                *item = u64::from(worlds[index as usize]) << 32 | index;
            });
            radix::sort(items, other, 32);
        }
        ids.resize(boxes.len(), 0);
        ids.par_chunks_mut(CHUNK).zip(items.par_chunks(CHUNK)).for_each(|(ids, items)| {
            for (id, item) in ids.iter_mut().zip(items) {
                *id = *item as u32;
            }
        });
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        (self.items.capacity() + self.other.capacity()) * size_of::<u64>()
    }
}

impl Cubes {
    fn of(boxes: &[Aabb]) -> Self {
        Self([0, 1].map(|own| Cube::around(sample(boxes).filter(|aabb| class(aabb) == own).map(center))))
    }

    /// Returns the class of a box, and the first bits of its place.
    #[inline]
    fn first_key(&self, aabb: &Aabb) -> u32 {
        let class = class(aabb);
        let place = self.0.get(class).map_or(0, |cube| cube.rough_place(center(aabb).map(f64::from)));
        (class as u32) << FIRST_BITS | place
    }
}

impl Cube {
    /// Chooses the bounds of most centroids, so that a few far ones do not put all others into one place.
    fn around(sample: impl Iterator<Item = [f32; 3]> + Clone) -> Self {
        let mut low = [0.0; 3];
        let mut extent = 0.0f64;
        for (k, low) in low.iter_mut().enumerate() {
            // Not on the heap: there may be as many cubes as there are places with several boxes.
            let mut along = [0.0; SAMPLE];
            let mut count = 0;
            for (place, center) in along.iter_mut().zip(sample.clone()) {
                *place = center[k];
                count += 1;
            }
            let along = &mut along[..count];
            if along.is_empty() {
                return Self::default();
            }
            along.sort_unstable_by(f32::total_cmp);
            let (first, last) = (along[along.len() / 64], along[along.len() - 1 - along.len() / 64]);
            let [first, last] = [first, last].map(f64::from);
            let margin = MARGIN * (last - first);
            let (first, last) =
                (f64::from(along[0]).max(first - margin), f64::from(along[along.len() - 1]).min(last + margin));
            *low = first;
            extent = extent.max(last - first);
        }
        // With a border around the sample.
        let cells = f64::from(1u32 << hilbert::LEVELS);
        let border = extent / 64.0;
        Self { low: low.map(|x| x - border), scale: if extent > 0.0 { cells / (extent + 2.0 * border) } else { 0.0 } }
    }

    #[inline]
    fn coordinates(&self, [x, y, z]: [f64; 3]) -> [u32; 3] {
        let last = f64::from((1u32 << hilbert::LEVELS) - 1);
        let coordinate = |x: f64, low: f64| ((x - low) * self.scale).clamp(0.0, last) as u32;
        [coordinate(x, self.low[0]), coordinate(y, self.low[1]), coordinate(z, self.low[2])]
    }

    /// Returns the place of a point along the curve.
    fn place(&self, point: [f64; 3]) -> u64 {
        hilbert::place(self.coordinates(point))
    }

    /// Returns the first [`FIRST_BITS`] of the place of a point.
    #[inline]
    pub fn rough_place(&self, point: [f64; 3]) -> u32 {
        hilbert::rough_place(self.coordinates(point))
    }
}

/// Picks at most [`SAMPLE`] things, one of each so many, but not in step: kinds of boxes may take turns.
fn sample<T>(all: &[T]) -> impl Iterator<Item = &T> + Clone {
    let step = all.len().div_ceil(SAMPLE).max(1);
    all.chunks(step).enumerate().map(|(i, some)| &some[i.wrapping_mul(0x9e37_79b1) / 64 % some.len()])
}

/// Returns 0 for a box of usual size, 1 for a finite one that is enormous, and 2 for others.
#[inline]
fn class(aabb: &Aabb) -> usize {
    if is_within(aabb, ORDINARY) { 0 } else { 2 - usize::from(is_within(aabb, f32::MAX)) }
}

/// Returns whether a box is valid and no coordinate is beyond `limit`.
#[inline]
fn is_within(aabb: &Aabb, limit: f32) -> bool {
    aabb.is_valid() && aabb.min.iter().chain(&aabb.max).all(|x| x.abs() <= limit)
}

#[inline]
fn center(aabb: &Aabb) -> [f32; 3] {
    std::array::from_fn(|k| 0.5 * aabb.min[k] + 0.5 * aabb.max[k])
}

/// Sorts boxes that share a first key by the rest of their places; equal ones stay in the order of their
/// indices. The upper halves of the items are unused afterwards.
fn refine(items: &mut [u64], boxes: &[Aabb], cubes: &Cubes) {
    let key = |item: &u64| item >> 32;
    if let Some(middle) = items.get(items.len() / 2).map(key).filter(|_| items.len() > CHUNK) {
        let starts = [middle, middle + 1].map(|least| items.partition_point(|item| key(item) < least));
        // A run is not cut.
        if let Some(&at) = starts.iter().find(|&&at| at > 0 && at < items.len()) {
            let (left, right) = items.split_at_mut(at);
            rayon::join(|| refine(left, boxes, cubes), || refine(right, boxes, cubes));
            return;
        }
    }
    for run in items.chunk_by_mut(|a, b| key(a) == key(b)) {
        let class = (run[0] >> (32 + FIRST_BITS)) as usize;
        if let Some(cube) = cubes.0.get(class).filter(|_| run.len() > FEW) {
            sort_by_rest(run, boxes, cube);
        }
    }
}

/// Sorts boxes by what `key` makes of their centers, and then by index.
fn sort_by(run: &mut [u64], boxes: &[Aabb], key: impl Fn([f64; 3]) -> u64 + Sync) {
    run.par_iter_mut().with_min_len(CHUNK).for_each(|item| {
        let index = *item & u64::from(u32::MAX);
        *item = key(center(&boxes[index as usize]).map(f64::from)) << 32 | index;
    });
    run.par_sort_unstable();
}

/// Sorts boxes whose places have the same first bits by the rest. Boxes that share a place are sorted along a curve of their
/// own, where that distinguishes them: a scene may have a scene within it that is smaller than any place.
fn sort_by_rest(run: &mut [u64], boxes: &[Aabb], cube: &Cube) {
    sort_by(run, boxes, |center| cube.place(center) & ((1 << FIRST_BITS) - 1));
    for own in run.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|own| own.len() > FEW) {
        let finer = Cube::around(sample(own).map(|&item| center(&boxes[item as u32 as usize])));
        // Finer by so much that this ends after some twenty times.
        if finer.scale > 1024.0 * cube.scale {
            sort_by(own, boxes, |center| u64::from(finer.rough_place(center)));
            for same in own.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|same| same.len() > 1) {
                sort_by_rest(same, boxes, &finer);
            }
        }
    }
}
