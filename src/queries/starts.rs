//! The start of each kind of query.

use super::casts::sealed::SealedCast as _;
use super::start::Start;
use super::{BoxCast, Capsule, CapsuleCast, Convex, NearestQuery, OrientedBox, Path, Ray, Sphere, SphereCast};
use crate::Aabb;

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

/// Returns the place where the middle of a moving box enters the scene, or its start.
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
