//! Walks several rays through the tree at once, if their directions are nearly the same, such as the rays of a camera.
//!
//! Inner nodes are tested once for all rays, with intervals around their origins and directions (a beam). Each box of a
//! leaf that the beam meets is then tested against eight rays at once. This needs fewer steps and fewer unpredictable
//! branches. Answers equal the answers of separate walks. Source: Wald et al. 2001, Interactive rendering with coherent
//! ray tracing; Reshetov et al. 2005, Multi-level ray tracing.

use glam::Vec4;

use super::levels::Levels;
use super::node::{Node, ORDINARY, Real, WIDTH, both_halves};
use super::visit::is_before;
use super::walk::{Stack, Visitor, walk};
use crate::Aabb;
use crate::queries::{Entry, Path};

/// Rays of a packet.
pub const RAYS: usize = 8;

/// The most boxes that the rays of a packet test together. If there are more, the rays are so far apart, or pass so
/// many boxes, that separate walks are faster.
const MOST_LOOKS: u32 = 192;

/// The largest angle between directions of a packet, as its cosine.
const NARROW: f32 = 0.9995;

/// Several rays, and the first box that each ray hits so far. If `IS_ANY`, any box, without its index.
pub struct Packet<'a, const IS_ANY: bool> {
    paths: &'a [Path; RAYS],
    axes: [PacketAxis; 3],
    limits: [f32; RAYS],
    /// The largest limit of all rays.
    limit: f32,
    /// Count of boxes that the rays tested together.
    looks: u32,
    /// The box that each ray hits.
    best: &'a mut [Option<(Entry, u32)>; RAYS],
}

/// The rays along one axis: the face that they must reach (`first`), and the face that they leave (`last`).
struct PacketAxis {
    first: usize,
    last: usize,
    /// For each ray, the coordinates that reach and that leave a face, and the inverse of its speed.
    reach: [Vec4; 2],
    leave: [Vec4; 2],
    inverse: [Vec4; 2],
    /// The beam: the origin that reaches a face first, the origin that leaves it last, and the inverses of the largest
    /// and the least speed.
    beam: [Vec4; 4],
}

/// Returns `number` of each ray.
#[inline(always)]
fn of_each(paths: &[Path; RAYS], number: impl Fn(&Path) -> f32) -> [Vec4; 2] {
    [0, 4].map(|i| Vec4::from_array(std::array::from_fn(|at| number(&paths[i + at]))))
}

/// Returns the least and the largest of eight numbers.
#[inline(always)]
fn range([a, b]: [Vec4; 2]) -> [f32; 2] {
    [a.min(b).min_element(), a.max(b).max_element()]
}

impl PacketAxis {
    /// Prepares one axis of the rays. Returns `None` if the rays are not ordinary, or do not all move to the same side
    /// along the axis.
    #[inline(always)]
    fn new(paths: &[Path; RAYS], k: usize, directions: [Vec4; 2]) -> Option<Self> {
        let (low, high) = (of_each(paths, |path| path.low[k]), of_each(paths, |path| path.high[k]));
        let ([least, _], [_, greatest], [back, forth]) = (range(low), range(high), range(directions));
        let is_up = back > 0.0;
        let (slowest, fastest) = if is_up { (back, forth) } else { (forth, back) };
        let is_moving = if is_up { slowest >= 1.0 / ORDINARY } else { slowest <= -1.0 / ORDINARY };
        let is_ordinary = (least >= -ORDINARY) & (greatest <= ORDINARY) & is_moving;
        if !(is_ordinary & (back >= -ORDINARY) & (forth <= ORDINARY)) {
            return None;
        }
        let inverse = directions.map(|direction| Vec4::ONE / direction);
        let (first, last, reach, leave) = if is_up { (k, k + 3, high, low) } else { (k + 3, k, low, high) };
        let [earliest, latest] =
            [range(reach), range(leave)].map(|[low, high]| if is_up { [high, low] } else { [low, high] });
        let beam = [earliest[0], latest[1], 1.0 / fastest, 1.0 / slowest].map(Vec4::splat);
        Some(Self { first, last, reach, leave, inverse, beam })
    }
}

/// Returns the largest limit.
#[inline(always)]
fn greatest(limits: &[f32; RAYS]) -> f32 {
    limits.iter().fold(-1.0, |all, &own| all.max(own))
}

/// Returns whether rays go nearly the same way.
#[inline(always)]
fn is_narrow(directions: &[[Vec4; 2]; 3]) -> bool {
    let first = directions.map(|[direction, _]| direction.x);
    let own = first.iter().map(|x| x * x).sum::<f32>().sqrt();
    (0..2).all(|half| {
        let [x, y, z] = directions.map(|direction| direction[half]);
        let length = Vec4::sqrt(x * x + y * y + z * z);
        let along = x * first[0] + y * first[1] + z * first[2];
        (length * (NARROW * own)).cmple(along).all()
    })
}

impl<'a, const IS_ANY: bool> Packet<'a, IS_ANY> {
    /// Creates a packet. Returns `None` unless the rays are ordinary, have nearly the same direction, and move along
    /// each axis. `best` must be empty.
    #[inline(always)]
    pub fn new(paths: &'a [Path; RAYS], best: &'a mut [Option<(Entry, u32)>; RAYS]) -> Option<Self> {
        let directions = [0, 1, 2].map(|k| of_each(paths, |path| path.direction[k]));
        if !is_narrow(&directions) {
            return None;
        }
        let axis = |k: usize| PacketAxis::new(paths, k, directions[k]);
        let axes = [axis(0)?, axis(1)?, axis(2)?];
        let limits = std::array::from_fn(|ray| f32::limit(f64::from(paths[ray].limit)));
        Some(Self { paths, axes, limits, limit: greatest(&limits), looks: 0, best })
    }

    /// Finds the box that each ray hits, in some ranges of leaves. Returns `false` if it stopped because separate walks
    /// are faster.
    #[inline(always)]
    pub fn walk(&mut self, levels: &Levels, ids: &[u32], ranges: &[[u32; 2]], stack: &mut Stack<f32>) -> bool {
        walk(levels, ids, ranges, stack, self);
        self.looks <= MOST_LOOKS
    }

    /// Returns a bit for each ray that may touch a child of a leaf before its limit.
    #[inline(always)]
    fn rays_through(&self, leaf: &Node, child: usize) -> u32 {
        let half = |i: usize| {
            let (mut near, mut far) = (Vec4::ZERO, Vec4::from_slice(&self.limits[4 * i..4 * i + 4]));
            for axis in &self.axes {
                let face = |face: usize| Vec4::splat(leaf.faces[face % 6][child % WIDTH]);
                near = near.max((face(axis.first) - axis.reach[i]) * axis.inverse[i]);
                far = far.min((face(axis.last) - axis.leave[i]) * axis.inverse[i]);
            }
            f32::at_most(near, f32::slackened(far))
        };
        half(0) | half(1) << 4
    }

    #[inline(always)]
    fn take_for(&mut self, ray: usize, id: u32, aabb: &Aabb) {
        let Some(entry) = self.paths[ray].enter(aabb) else { return };
        if IS_ANY {
            self.best[ray] = Some((entry, 0));
            self.limits[ray] = -1.0;
        } else if is_before(&self.paths[ray], (&entry, id), &self.best[ray]) {
            self.limits[ray] = f32::limit(entry.approximate);
            self.best[ray] = Some((entry, id));
        }
    }
}

impl<const IS_ANY: bool> Visitor for Packet<'_, IS_ANY> {
    type Known = f32;
    const IS_ORDERED: bool = true;

    #[inline(always)]
    fn look(&self, node: &Node, _: f32) -> (u32, [f32; WIDTH]) {
        both_halves(|i| {
            let (mut near, mut far) = (Vec4::ZERO, Vec4::splat(self.limit));
            for axis in &self.axes {
                let [reach, leave, of_fastest, of_slowest] = axis.beam;
                // The fastest ray is the first at a face ahead, and the slowest ray is the last. A face behind has a
                // time below zero, whatever the speed.
                near = near.max((f32::load(&node.faces[axis.first % 6], i) - reach) * of_fastest);
                far = far.min((f32::load(&node.faces[axis.last % 6], i) - leave) * of_slowest);
            }
            (f32::at_most(near, f32::slackened(far)), near.to_array())
        })
    }

    #[inline(always)]
    fn is_beyond(&self, near: f32) -> bool {
        near > self.limit
    }

    fn take_leaf(&mut self, leaf: &Node, _: f32, mut bits: u32, nears: &[f32; WIDTH], ids: &[u32]) {
        while bits != 0 {
            let child = bits.trailing_zeros() as usize % WIDTH;
            bits &= bits - 1;
            if nears[child] > self.limit {
                continue;
            }
            self.looks += 1;
            let mut rays = self.rays_through(leaf, child);
            while rays != 0 {
                let ray = rays.trailing_zeros() as usize % RAYS;
                rays &= rays - 1;
                self.take_for(ray, ids[child], &leaf.get(child));
            }
        }
        self.limit = greatest(&self.limits);
    }

    fn take(&mut self, _: u32, _: &Aabb) {}

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.looks > MOST_LOOKS || self.limit < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;
    use crate::Filters;

    #[test]
    fn rays_that_look_into_too_many_leaves_are_not_done() {
        let plate = |i: usize| {
            let low = [(i % 100) as f32, (i / 100) as f32];
            Aabb::new([low[0], low[1], 0.0], [low[0] + 0.9, low[1] + 0.9, 0.1])
        };
        let boxes: Vec<Aabb> = (0..10_000).map(plate).collect();
        let mut tree = Tree::new();
        tree.build(&boxes).unwrap();
        let is_done = |apart: f32, y: f32, z: f32| {
            let path = |i: usize| {
                let origin = [-1.0, y + apart * i as f32, z];
                Path::new(origin, origin, [1.0, 1e-5, 1e-5], 200.0)
            };
            let paths = std::array::from_fn(path);
            let mut best = [None; RAYS];
            let mut packet = Packet::<false>::new(&paths, &mut best).unwrap();
            packet.walk(&tree.levels, &tree.ids, &tree.worlds.of(Filters::GLOBAL), &mut Stack::default())
        };
        assert!(is_done(0.01, 0.3, 0.05), "each hits the first plate");
        assert!(is_done(8.0, 0.3, 5.0), "far above all");
        assert!(!is_done(8.0, 0.95, 0.05), "between two rows, near many plates");
    }
}
