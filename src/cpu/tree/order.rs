//! The order of the leaves: by world, and in each world by halves.
//!
//! The boxes of a node are divided in halves along the axis with the largest extent of centers. The halves are divided
//! again until each of eight parts fills a child. So nodes are complete, and no pointers are stored. Source: Bentley
//! 1975, Multidimensional binary search trees used for associative searching.
//!
//! Giants are boxes about as large as the scene, such as the ground. A giant enlarges all nodes above it, so that
//! queries visit these nodes in vain. Without worlds, up to eight giants are in the first leaf. No node is above this
//! leaf, and each query visits it first.

use rayon::prelude::*;

use super::cube::{center, sample};
use super::levels::half_surface;
use super::node::WIDTH;
use super::sort_group::{self, GROUP, Item, bounds, longest};
use crate::Aabb;
use crate::base::constants::CHUNK;
use crate::cpu::radix;

/// Centers of the sample that measures an extent: to choose the axis of a cut, and to compare giants with the scene.
const SAMPLE: usize = 1 << 8;
/// A box is a giant if its surface is at least this fraction of the surface around most centers.
const GIANT: f32 = 0.25;

/// The memory of the sort, reused from build to build.
#[derive(Debug, Default)]
pub struct Order {
    items: Vec<Item>,
    /// The world and the index of each box, sorted; and scratch memory. Empty without worlds.
    worlds: [Vec<u64>; 2],
}

impl Order {
    /// Writes the order of the boxes to `ids`. `worlds` has the number of each box's world, or is empty. Returns
    /// whether the first leaf has giants.
    pub fn sort(&mut self, boxes: &[Aabb], worlds: &[u32], ids: &mut Vec<u32>) -> bool {
        let Self { items, worlds: [by_world, other] } = self;
        ids.resize(boxes.len(), 0);
        items.resize(boxes.len(), Item::default());
        if worlds.is_empty() {
            let giant_count = fill(items, boxes);
            let first = if giant_count > 0 { WIDTH } else { 0 };
            ids.iter_mut().zip(&items[..first]).for_each(|(id, item)| *id = item.id);
            divide(&mut items[first..], &mut ids[first..], first);
            return giant_count > 0;
        }
        by_world.resize(boxes.len(), 0);
        by_world.par_iter_mut().zip(worlds).enumerate().with_min_len(CHUNK).for_each(|(i, (key, &world))| {
            *key = u64::from(world) << 32 | i as u64;
        });
        radix::sort(by_world, other, 32);
        items.par_iter_mut().zip(&*by_world).with_min_len(CHUNK).for_each(|(item, &key)| {
            *item = Item { center: center(&boxes[key as u32 as usize]), id: key as u32 };
        });
        divide_worlds(by_world, items, ids, 0);
        false
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let worlds: usize = self.worlds.iter().map(Vec::capacity).sum();
        self.items.capacity() * size_of::<Item>() + worlds * size_of::<u64>()
    }
}

/// Stores the centers of the boxes. If the giants fit a leaf, moves them to the front, and returns their count;
/// otherwise 0.
fn fill(items: &mut [Item], boxes: &[Aabb]) -> usize {
    let centers = sample(boxes, SAMPLE).map(center).map(|center| Item { center, id: 0 });
    let [low, high] = bounds(centers);
    let surface = half_surface(&Aabb::new(low.to_array(), high.to_array())) as f32;
    // Without a surface around most centers, only unbounded boxes are giants.
    let least = if surface > 0.0 { GIANT * surface } else { f32::INFINITY };
    let chunks = items.par_chunks_mut(CHUNK).zip(boxes.par_chunks(CHUNK)).enumerate();
    let giants = chunks.map(|(chunk, (items, boxes))| {
        let mut giants = Giants::default();
        for ((item, aabb), i) in items.iter_mut().zip(boxes).zip(chunk * CHUNK..) {
            *item = Item { center: center(aabb), id: i as u32 };
            if is_giant(aabb, least) {
                giants.add(i);
            }
        }
        giants
    });
    let Giants { ids, count } = giants.reduce(Giants::default, Giants::and);
    if count > WIDTH || boxes.len() <= WIDTH {
        return 0;
    }
    ids[..count].iter().enumerate().for_each(|(place, &giant)| items.swap(place, giant));
    count
}

/// The indices of giants, ascending. A count above [`WIDTH`] means more giants than fit a leaf.
#[derive(Clone, Copy, Default)]
struct Giants {
    ids: [usize; WIDTH],
    count: usize,
}

impl Giants {
    fn add(&mut self, id: usize) {
        if let Some(place) = self.ids.get_mut(self.count) {
            *place = id;
        }
        self.count = (self.count + 1).min(WIDTH + 1);
    }

    /// Appends the giants of later boxes.
    fn and(mut self, later: Self) -> Self {
        (0..later.count).for_each(|at| self.add(later.ids.get(at).copied().unwrap_or_default()));
        self
    }
}

/// Returns whether a box is valid and half of its surface is at least `least`, up to rounding. The surface of a flat
/// unbounded box is NaN.
#[inline(always)]
fn is_giant(aabb: &Aabb, least: f32) -> bool {
    let [x, y, z] = std::array::from_fn(|k| aabb.max[k] - aabb.min[k]);
    let surface = x * y + y * z + z * x;
    (surface >= least || surface.is_nan()) && aabb.is_valid()
}

/// Divides the boxes of each world. `keys` has the world of each box in the upper half, ascending.
fn divide_worlds(keys: &[u64], items: &mut [Item], ids: &mut [u32], first: usize) {
    let world = |key: &u64| key >> 32;
    if let Some(middle) = keys.get(keys.len() / 2).map(world).filter(|_| keys.len() > CHUNK) {
        let starts = [middle, middle + 1].map(|least| keys.partition_point(|key| world(key) < least));
        // Parts end at the ends of worlds.
        if let Some(&at) = starts.iter().find(|&&at| at > 0 && at < keys.len()) {
            let (keys, items, ids) = (keys.split_at(at), items.split_at_mut(at), ids.split_at_mut(at));
            rayon::join(
                || divide_worlds(keys.0, items.0, ids.0, first),
                || divide_worlds(keys.1, items.1, ids.1, first + at),
            );
            return;
        }
    }
    let mut start = 0;
    for own in keys.chunk_by(|a, b| world(a) == world(b)) {
        let range = start..start + own.len();
        divide(&mut items[range.clone()], &mut ids[range], first + start);
        start += own.len();
    }
}

/// Finds the lowest node that contains all these boxes, and divides the boxes among its children, recursively down to
/// the leaves. Writes the indices of the boxes to `ids`. `first` is the position of `ids` in the whole order.
fn divide(items: &mut [Item], ids: &mut [u32], first: usize) {
    let last = first + items.len().max(1) - 1;
    if first / WIDTH == last / WIDTH {
        ids.iter_mut().zip(items).for_each(|(id, item)| *id = item.id);
        return;
    }
    if let (0, Ok(items), Ok(ids)) = (first % GROUP, (&*items).try_into(), (&mut *ids).try_into()) {
        return sort_group::sort(items, ids);
    }
    let mut child = WIDTH;
    while first / (WIDTH * child) != last / (WIDTH * child) {
        child *= WIDTH;
    }
    let [low, high] = bounds(sample(items, SAMPLE).copied());
    cut(items, ids, first, child, (high - low).to_array());
}

/// Divides boxes in halves, recursively down to the children of a node, which have `child` boxes each. `extent` is the
/// approximate extent of their centers along each axis.
fn cut(items: &mut [Item], ids: &mut [u32], first: usize, child: usize, mut extent: [f32; 3]) {
    let (start, last) = (first / child, (first + items.len() - 1) / child);
    if start == last {
        return divide(items, ids, first);
    }
    let at = (start + 1 + last).div_ceil(2) * child - first;
    let k = longest(&extent);
    // A function per axis is faster.
    match k {
        0 => items.select_nth_unstable_by(at, |a, b| a.center[0].total_cmp(&b.center[0])),
        1 => items.select_nth_unstable_by(at, |a, b| a.center[1].total_cmp(&b.center[1])),
        _ => items.select_nth_unstable_by(at, |a, b| a.center[2].total_cmp(&b.center[2])),
    };
    extent[k] *= 0.5;
    let is_parallel = items.len() > CHUNK;
    let (items, ids) = (items.split_at_mut(at), ids.split_at_mut(at));
    let mut left = || cut(items.0, ids.0, first, child, extent);
    let mut right = || cut(items.1, ids.1, first + at, child, extent);
    if is_parallel {
        rayon::join(left, right);
    } else {
        left();
        right();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the points of a grid with spacing 1, in a scattered order.
    fn grid(side: usize) -> Vec<Aabb> {
        let point = |i: usize| [i % side, i / side % side, i / side / side].map(|x| x as f32);
        // 7,919 is a prime that does not divide `count`, so each point occurs once.
        let count = side.pow(3);
        (0..count).map(|i| point(i * 7_919 % count)).map(|at| Aabb::new(at, at)).collect()
    }

    fn sorted(boxes: &[Aabb], worlds: &[u32], threads: usize) -> Vec<u32> {
        let (mut order, mut ids) = (Order::default(), Vec::new());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| order.sort(boxes, worlds, &mut ids));
        ids
    }

    #[test]
    fn nodes_of_a_grid_are_cubes() {
        let boxes = grid(32);
        let ids = sorted(&boxes, &[], 2);
        for (count, side) in [(8, 2.0), (64, 4.0), (512, 8.0), (4_096, 16.0)] {
            for own in ids.chunks(count) {
                for k in 0..3 {
                    let along = || own.iter().map(|&id| boxes[id as usize].min[k]);
                    let extent = along().fold(0.0, f32::max) - along().fold(32.0, f32::min);
                    assert_eq!(extent, side - 1.0, "{own:?}");
                }
            }
        }
    }

    #[test]
    fn up_to_eight_giants_have_the_first_leaf() {
        let mut boxes = grid(24);
        for count in 1..=WIDTH {
            // Neither a flat, a long nor a flat unbounded giant is missed. Invalid boxes are no giants.
            let giant = [[30.0, 30.0, 0.0], [900.0, 1.0, 1.0], [f32::INFINITY, f32::INFINITY, -2.0]][count % 3];
            boxes[999 * count] = Aabb::new([-2.0; 3], giant);
            boxes[999 * count + 1] = Aabb::new(giant, [-2.0; 3]);
            for threads in [1, 5] {
                let first = sorted(&boxes, &[], threads)[..count].to_vec();
                assert_eq!(first, (1..=count as u32).map(|i| 999 * i).collect::<Vec<_>>());
            }
        }
        boxes[5] = boxes[999];
        let ids = sorted(&boxes, &[], 2);
        assert!(!ids[..WIDTH].contains(&999), "nine giants are among the other boxes");
    }

    #[test]
    fn any_boxes_are_listed_once_by_world_with_any_number_of_threads() {
        let mut boxes = grid(24);
        for (i, low) in [f32::NAN, f32::NEG_INFINITY, f32::INFINITY, -f32::MAX, 99.0].into_iter().enumerate() {
            boxes[100 * i + 7].min[i % 3] = low;
            boxes[100 * i + 8] = Aabb::new([low; 3], [f32::INFINITY; 3]);
        }
        for n in [0, 1, 7, 8, 9, 511, 512, 513, 4_097, boxes.len()] {
            for world_count in [0, 1, 3, 500] {
                let worlds: Vec<u32> = (0..n).filter(|_| world_count > 0).map(|i| (i % world_count) as u32).collect();
                let ids = sorted(&boxes[..n], &worlds, 1);
                assert_eq!(ids, sorted(&boxes[..n], &worlds, 5));
                assert!(worlds.is_empty() || ids.is_sorted_by_key(|&id| worlds[id as usize]));
                let mut all = ids;
                all.sort_unstable();
                assert!(all.into_iter().eq(0..n as u32), "{n} boxes, {world_count} worlds");
            }
        }
    }
}
