//! Where a query comes to the scene. Queries that start near each other look at the same boxes.

use super::casts::sealed::Cast as _;
use super::{BoxCast, Capsule, CapsuleCast, Convex, NearestQuery, OrientedBox, Path, Ray, Sphere, SphereCast};
use crate::Aabb;

/// A query that starts somewhere.
pub trait Start {
    /// Returns about where the query comes to a scene of these bounds; anything where a number has no meaning.
    fn start(&self, scene: &Aabb) -> [f64; 3];
}

impl Start for Ray {
    fn start(&self, scene: &Aabb) -> [f64; 3] {
        self.path().map_or([0.0; 3], |path| of_path(&path, scene))
    }
}

impl Start for BoxCast {
    fn start(&self, scene: &Aabb) -> [f64; 3] {
        self.path().map_or([0.0; 3], |path| of_path(&path, scene))
    }
}

impl Start for SphereCast {
    fn start(&self, scene: &Aabb) -> [f64; 3] {
        self.bounds().start(scene)
    }
}

impl Start for CapsuleCast {
    fn start(&self, scene: &Aabb) -> [f64; 3] {
        self.bounds().start(scene)
    }
}

impl Start for [f32; 3] {
    fn start(&self, _: &Aabb) -> [f64; 3] {
        self.map(f64::from)
    }
}

impl Start for Aabb {
    fn start(&self, _: &Aabb) -> [f64; 3] {
        middle(self)
    }
}

impl Start for Sphere {
    fn start(&self, _: &Aabb) -> [f64; 3] {
        self.center.map(f64::from)
    }
}

impl Start for OrientedBox {
    fn start(&self, _: &Aabb) -> [f64; 3] {
        self.center.map(f64::from)
    }
}

impl Start for Capsule {
    fn start(&self, _: &Aabb) -> [f64; 3] {
        middle(&Aabb::new(self.from, self.to))
    }
}

impl Start for Convex<'_> {
    fn start(&self, _: &Aabb) -> [f64; 3] {
        [0.0; 3]
    }
}

impl Start for NearestQuery {
    fn start(&self, _: &Aabb) -> [f64; 3] {
        self.point.map(f64::from)
    }
}

fn middle(aabb: &Aabb) -> [f64; 3] {
    std::array::from_fn(|k| 0.5 * (f64::from(aabb.min[k]) + f64::from(aabb.max[k])))
}

/// Returns where the middle of what moves enters the scene, or where it begins.
fn of_path(path: &Path, scene: &Aabb) -> [f64; 3] {
    let from = middle(&Aabb::new(path.low, path.high));
    let direction = path.direction.map(f64::from);
    let mut enters = 0.0f64;
    for k in (0..3).filter(|&k| direction[k] != 0.0) {
        let face = if direction[k] > 0.0 { scene.min[k] } else { scene.max[k] };
        let reached = (f64::from(face) - from[k]) / direction[k];
        enters = if reached.is_finite() { enters.max(reached) } else { enters };
    }
    std::array::from_fn(|k| from[k] + enters * direction[k])
}

/// Tells whether most queries start near the one before, as those of a camera do.
pub fn is_in_order<Q: Start>(queries: &[Q], scene: &Aabb) -> bool {
    const SAMPLE: usize = 256;
    const NEAR: f64 = 1.0 / 64.0;
    let square = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>();
    let near = square(scene.min.map(f64::from), scene.max.map(f64::from)) * NEAR * NEAR;
    let step = (queries.len() / SAMPLE).max(1);
    let is_near = |pair: &&[Q]| square(pair[0].start(scene), pair[1].start(scene)) <= near;
    let pairs = || queries.windows(2).step_by(step);
    4 * pairs().filter(is_near).count() > 3 * pairs().count()
}
