//! Walks several rays through the tree at once, if their directions are nearly the same, such as the rays of a camera.
//!
//! Inner nodes are tested once for all rays, with intervals around their origins and directions (a beam). Leaves are
//! tested for each ray. This needs fewer steps and fewer unpredictable branches. Answers equal the answers of separate
//! walks. Source: Wald et al. 2001, Interactive rendering with coherent ray tracing; Reshetov et al. 2005, Multi-level
//! ray tracing.

use glam::Vec4;

use super::levels::Levels;
use super::node::{Node, Real, Sight, WIDTH, both_halves};
use super::walk::{Stack, Visitor, walk};
use crate::Aabb;
use crate::queries::{Entry, Path};

/// Rays of a packet.
pub const RAYS: usize = 8;

/// The most tests of leaves by all rays of a packet together. If there are more, the rays are so far apart, or pass so
/// many boxes, that separate walks are faster.
const MOST_LOOKS: u32 = 192;

/// The largest difference of directions in a packet: the squared sine of the angle.
const NARROW: f64 = 1e-3;

/// Returns `true` if the directions of the rays are nearly the same, and nonzero with the same sign along each axis.
#[inline(always)]
pub fn is_narrow(paths: &[Path; RAYS]) -> bool {
    let first = &paths[0];
    let dot = |a: &Path, b: &Path| {
        let along = |k: usize| f64::from(a.direction[k]) * f64::from(b.direction[k]);
        along(0) + along(1) + along(2)
    };
    let own = dot(first, first);
    paths.iter().all(|path| {
        let goes_along = |k: usize| path.direction[k] * first.direction[k] > 0.0;
        let along = dot(first, path);
        goes_along(0) & goes_along(1) & goes_along(2) && along * along > (1.0 - NARROW) * own * dot(path, path)
    })
}

/// Several rays, and the first box that each ray hits so far.
pub struct Packet<'a> {
    paths: &'a [Path; RAYS],
    /// The rays prepared for tests of leaves. Filled at the first leaf, since many packets reach none.
    sights: &'a mut Vec<Sight<f32>>,
    limits: [f32; RAYS],
    axes: [BeamAxis; 3],
    /// The largest limit of all rays.
    limit: f32,
    /// Count of tests of leaves by rays.
    looks: u32,
    /// The first box that each ray hits.
    pub best: [Option<(Entry, u32)>; RAYS],
}

/// The beam along one axis: the face that rays must reach, and the origin that reaches it first; the face that they
/// leave, and the origin that leaves it last; and the least and the largest inverse of the speed.
struct BeamAxis {
    first: usize,
    last: usize,
    reach: Vec4,
    leave: Vec4,
    inverses: [Vec4; 2],
}

impl<'a> Packet<'a> {
    /// Creates a packet of rays that are [narrow](is_narrow) and ordinary. `sights` is scratch memory for the tests of
    /// leaves.
    #[inline(always)]
    pub fn new(paths: &'a [Path; RAYS], sights: &'a mut Vec<Sight<f32>>) -> Self {
        sights.clear();
        let mut limits = [0.0; RAYS];
        for (limit, path) in limits.iter_mut().zip(paths) {
            *limit = f32::limit(f64::from(path.limit));
        }
        let axes = [Self::axis(paths, 0), Self::axis(paths, 1), Self::axis(paths, 2)];
        let mut packet = Self { paths, sights, limits, axes, limit: 0.0, looks: 0, best: [None; RAYS] };
        packet.update();
        packet
    }

    #[inline(always)]
    fn axis(paths: &[Path; RAYS], k: usize) -> BeamAxis {
        let (mut low, mut high) = (paths[0].low[k], paths[0].high[k]);
        let mut inverses = [paths[0].inverse(k); 2];
        for path in &paths[1..] {
            (low, high) = (low.min(path.low[k]), high.max(path.high[k]));
            inverses = [inverses[0].min(path.inverse(k)), inverses[1].max(path.inverse(k))];
        }
        let is_up = paths[0].direction[k] > 0.0;
        let (first, last, reach, leave) = if is_up { (k, k + 3, high, low) } else { (k + 3, k, low, high) };
        let inverses = [Vec4::splat(inverses[0] as f32), Vec4::splat(inverses[1] as f32)];
        BeamAxis { first, last, reach: Vec4::splat(reach), leave: Vec4::splat(leave), inverses }
    }

    /// Finds the first box that each ray hits, in some ranges of leaves. Returns `false` if it stopped because separate
    /// walks are faster.
    pub fn walk(&mut self, levels: &Levels, ids: &[u32], ranges: &[[u32; 2]], stack: &mut Stack<f32>) -> bool {
        walk(levels, ids, ranges, stack, self);
        !self.is_done()
    }

    fn update(&mut self) {
        self.limit = self.limits.iter().fold(-1.0, |all, &own| all.max(own));
    }
}

impl Visitor for Packet<'_> {
    type Known = f32;
    const IS_ORDERED: bool = true;

    #[inline(always)]
    fn look(&self, node: &Node, _: f32) -> (u32, [f32; WIDTH]) {
        both_halves(|i| {
            let (mut near, mut far) = (Vec4::ZERO, Vec4::splat(self.limit));
            for axis in &self.axes {
                let reach = f32::load(&node.faces[axis.first % 6], i) - axis.reach;
                let leave = f32::load(&node.faces[axis.last % 6], i) - axis.leave;
                let [least, greatest] = axis.inverses;
                near = near.max((reach * least).min(reach * greatest));
                far = far.min((leave * least).max(leave * greatest));
            }
            (f32::at_most(near, f32::slackened(far)), near.to_array())
        })
    }

    #[inline(always)]
    fn is_beyond(&self, near: f32) -> bool {
        near > self.limit
    }

    fn take_leaf(&mut self, leaf: &Node, _: f32, bits: u32, nears: &[f32; WIDTH], ids: &[u32]) {
        if self.sights.is_empty() {
            self.sights.extend(self.paths.iter().map(Sight::new));
        }
        let marked = (0..WIDTH).filter(|child| bits >> child & 1 == 1);
        let nearest = marked.fold(f32::INFINITY, |nearest, child| nearest.min(nears[child]));
        for ray in 0..self.paths.len() {
            if nearest > self.limits[ray] {
                continue;
            }
            self.looks += 1;
            let (own, nears) = self.sights[ray].through(leaf, self.limits[ray]);
            let mut bits = bits & own;
            while bits != 0 {
                let child = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if nears[child % WIDTH] <= self.limits[ray] {
                    self.take_for(ray, ids[child], &leaf.get(child));
                }
            }
        }
        self.update();
    }

    fn take(&mut self, _: u32, _: &Aabb) {}

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.looks > MOST_LOOKS
    }
}

impl Packet<'_> {
    #[inline(always)]
    fn take_for(&mut self, ray: usize, id: u32, aabb: &Aabb) {
        let path = &self.paths[ray];
        let Some(entry) = path.enter(aabb) else { return };
        let is_first = self.best[ray]
            .as_ref()
            .is_none_or(|(best, index)| path.compare_entries(&entry, best).then(id.cmp(index)).is_lt());
        if is_first {
            self.best[ray] = Some((entry, id));
            self.limits[ray] = f32::limit(entry.approximate);
        }
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
            let (paths, mut sights) = (std::array::from_fn(path), Vec::new());
            assert!(is_narrow(&paths));
            let mut packet = Packet::new(&paths, &mut sights);
            packet.walk(&tree.levels, &tree.ids, &tree.worlds.of(Filters::GLOBAL), &mut Stack::default())
        };
        assert!(is_done(0.01, 0.3, 0.05), "each hits the first plate");
        assert!(is_done(8.0, 0.3, 5.0), "far above all");
        assert!(!is_done(8.0, 0.95, 0.05), "between rows, with others among them");
    }
}
