//! parry3d's `Bvh`, with the boxes themselves as its primitives.

use anyhow::Result;
use broadsweep::query::{Near, NearestQuery};
use broadsweep::{Aabb, Hit, Ray};
use parry3d::bounding_volume::Aabb as Bounds;
use parry3d::partitioning::{Bvh, BvhBuildStrategy};
use parry3d::query::{PointQuery, Ray as ParryRay, RayCast};

use crate::peers::parry::leaves;
use crate::queries::{Answerer, Answers, QueryBatch};

/// The tree and its boxes, of which the invalid ones are left out.
#[derive(Default)]
pub struct Parry {
    tree: Bvh,
    bounds: Vec<Bounds>,
    ids: Vec<u32>,
}

impl Parry {
    fn cast(&self, leaf: u32, ray: &ParryRay, most: f32) -> Option<f32> {
        self.bounds[leaf as usize].cast_local_ray(ray, most, true)
    }

    fn hit(&self, (leaf, t): (u32, f32)) -> Hit {
        Hit { index: self.ids[leaf as usize], t }
    }

    fn nearest_hit(&self, ray: &Ray) -> Option<Hit> {
        let (ray, limit) = prepared(ray);
        self.tree.cast_ray(&ray, limit, |leaf, best| self.cast(leaf, &ray, best)).map(|found| self.hit(found))
    }

    fn any_hit(&self, ray: &Ray) -> bool {
        let (ray, limit) = prepared(ray);
        self.tree.leaves(|node| node.cast_ray(&ray, limit) < f32::MAX).next().is_some()
    }

    fn all_hits(&self, ray: &Ray, hits: &mut Vec<Hit>) {
        let (ray, limit) = prepared(ray);
        let leaves = self.tree.leaves(|node| node.cast_ray(&ray, limit) < f32::MAX);
        hits.extend(leaves.filter_map(|leaf| Some(self.hit((leaf, self.cast(leaf, &ray, limit)?)))));
    }

    fn overlaps(&self, aabb: &Aabb, found: &mut Vec<u32>) {
        let query = Bounds::new(aabb.min.into(), aabb.max.into());
        found.extend(self.tree.intersect_aabb(&query).map(|leaf| self.ids[leaf as usize]));
    }

    fn nearest(&self, query: &NearestQuery, near: &mut Vec<Near>) {
        let (point, radius) = (query.point.into(), query.radius.min(f32::MAX));
        let project = |leaf: u32, _: f32| Some(self.bounds[leaf as usize].project_local_point(point, true));
        let found = self.tree.project_point(point, radius, project);
        near.extend(found.map(|(leaf, (distance, _))| Near {
            index: self.ids[leaf as usize],
            squared_distance: distance * distance,
        }));
    }
}

/// Returns the ray, and how far it goes: without an end, to the largest number.
fn prepared(ray: &Ray) -> (ParryRay, f32) {
    (ParryRay::new(ray.origin.into(), ray.direction.into()), ray.limit.min(f32::MAX))
}

impl Answerer for Parry {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        self.ids = crate::peers::valid(boxes).map(|(id, _)| id).collect();
        self.bounds = leaves(boxes).collect();
        self.tree = Bvh::from_iter(BvhBuildStrategy::Binned, self.bounds.iter().copied().enumerate());
        Ok(())
    }

    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>> {
        Ok(Some(match batch {
            QueryBatch::NearestHits(rays) => Answers::hits(rays, |ray| self.nearest_hit(ray)),
            QueryBatch::AnyHits(rays) => Answers::any(rays, |ray| self.any_hit(ray)),
            QueryBatch::AllHits(rays) => Answers::all_hits(rays, |ray, hits| self.all_hits(ray, hits)),
            QueryBatch::Overlaps(boxes) => Answers::overlaps(boxes, |aabb, found| self.overlaps(aabb, found)),
            QueryBatch::Nearest(points, 1) => Answers::near(points, |point, near| self.nearest(point, near)),
            QueryBatch::Nearest(..) => return Ok(None),
        }))
    }
}
