//! The order of the leaves: by world, then by size class, then along a Hilbert curve.

use rayon::prelude::*;

use super::hilbert;
use super::node::ORDINARY;
use crate::Aabb;
use crate::base::constants::CHUNK;
use crate::cpu::radix;

/// Bits of the place in the first key. Boxes with equal first keys are then sorted by the other bits.
const FIRST_BITS: u32 = hilbert::BITS / 2;
/// Boxes with equal first keys are not sorted further if there are at most this many.
const FEW: usize = 8;
/// Centroids of the sample that locates most boxes.
const SAMPLE: usize = 1 << 10;
/// The largest extent of the curve, in units of the extent of most boxes.
const MARGIN: f64 = 8.0;

/// The cube that the curve fills. Centroids beyond the cube are moved to its surface.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cube {
    low: [f64; 3],
    scale: f64,
}

/// The cubes of two curves: of boxes of usual size, and of enormous finite boxes. Separate curves keep nodes small.
/// Unbounded and invalid boxes follow.
#[derive(Clone, Copy, Debug)]
struct Cubes([Cube; 2]);

/// The memory of the sort, reused from build to build.
#[derive(Debug, Default)]
pub struct Order {
    /// The cube of the curve of usual boxes in the last sort.
    pub cube: Cube,
    items: Vec<u64>,
    other: Vec<u64>,
}

impl Order {
    /// Writes the order of the boxes to `ids`. `worlds` has the number of each box's world, or is empty.
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

    /// Returns the bytes of allocated memory.
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
    /// Chooses a cube around most centroids, so that a few distant centroids do not force all others to the same place.
    fn around(sample: impl Iterator<Item = [f32; 3]> + Clone) -> Self {
        let mut low = [0.0; 3];
        let mut extent = 0.0f64;
        for (k, low) in low.iter_mut().enumerate() {
            // Not on the heap, since each place with several boxes may need a cube.
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
        // Add a border around the sample.
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

/// Returns a sample of at most [`SAMPLE`] elements from the whole list. The spacing is irregular, since kinds of boxes
/// may alternate.
fn sample<T>(all: &[T]) -> impl Iterator<Item = &T> + Clone {
    let step = all.len().div_ceil(SAMPLE).max(1);
    all.chunks(step).enumerate().map(|(i, some)| &some[i.wrapping_mul(0x9e37_79b1) / 64 % some.len()])
}

/// Returns the class of a box: 0 for usual size, 1 for enormous and finite, 2 for others.
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

/// Sorts boxes with equal first keys by the other bits of their places; boxes with equal places stay in the order of
/// their indices. Afterwards, the upper halves of the items have no meaning.
fn refine(items: &mut [u64], boxes: &[Aabb], cubes: &Cubes) {
    let key = |item: &u64| item >> 32;
    if let Some(middle) = items.get(items.len() / 2).map(key).filter(|_| items.len() > CHUNK) {
        let starts = [middle, middle + 1].map(|least| items.partition_point(|item| key(item) < least));
        // Parts end at the ends of runs with equal first keys.
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

/// Sorts boxes by the `key` of their centres, then by index.
fn sort_by(run: &mut [u64], boxes: &[Aabb], key: impl Fn([f64; 3]) -> u64 + Sync) {
    run.par_iter_mut().with_min_len(CHUNK).for_each(|item| {
        let index = *item & u64::from(u32::MAX);
        *item = key(center(&boxes[index as usize]).map(f64::from)) << 32 | index;
    });
    run.par_sort_unstable();
}

/// Sorts boxes with equal first keys by the other bits of their places. Boxes with equal places are sorted along a
/// finer curve of their own, if it distinguishes them: a scene may contain a small scene within one place.
fn sort_by_rest(run: &mut [u64], boxes: &[Aabb], cube: &Cube) {
    sort_by(run, boxes, |center| cube.place(center) & ((1 << FIRST_BITS) - 1));
    for own in run.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|own| own.len() > FEW) {
        let finer = Cube::around(sample(own).map(|&item| center(&boxes[item as u32 as usize])));
        // Each curve is finer by at least this factor, so the recursion ends after about twenty levels.
        if finer.scale > 1024.0 * cube.scale {
            sort_by(own, boxes, |center| u64::from(finer.rough_place(center)));
            for same in own.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|same| same.len() > 1) {
                sort_by_rest(same, boxes, &finer);
            }
        }
    }
}
