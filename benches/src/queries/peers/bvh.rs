//! bvh's tree. It normalises directions, and its rays have no end: hits beyond the limit are left out here, as every
//! user must do.

use anyhow::Result;
use broadsweep::{Aabb, Hit, Ray};
use bvh::aabb::{Aabb as Bounds, Bounded};
use bvh::ray::Ray as BvhRay;

use crate::peers::bvh::{Shape, refuse_too_far, shapes};
use crate::queries::{Answerer, Answers, QueryBatch};

/// The tree and its shapes.
#[derive(Default)]
pub struct Bvh(Option<(bvh::bvh::Bvh<f32, 3>, Vec<Shape>)>);

/// A ray as the tree wants it, and the length of the direction that it had.
struct Prepared {
    ray: BvhRay<f32, 3>,
    length: f32,
    limit: f32,
}

impl Prepared {
    fn new(ray: &Ray) -> Self {
        let length = ray.direction.iter().map(|x| x * x).sum::<f32>().sqrt();
        Self { ray: BvhRay::new(ray.origin.into(), ray.direction.into()), length, limit: ray.limit }
    }

    fn hit(&self, shape: &Shape) -> Option<Hit> {
        let (enter, _) = self.ray.intersection_slice_for_aabb(&shape.aabb())?;
        let t = enter / self.length;
        (t <= self.limit).then_some(Hit { index: shape.id, t })
    }
}

impl Answerer for Bvh {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        self.0 = None;
        refuse_too_far(boxes)?;
        let mut shapes = shapes(boxes);
        let tree = bvh::bvh::Bvh::build(&mut shapes);
        self.0 = Some((tree, shapes));
        Ok(())
    }

    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>> {
        let Some((tree, shapes)) = &self.0 else { return Ok(None) };
        Ok(Some(match batch {
            QueryBatch::NearestHits(rays) => Answers::hits(rays, |ray| {
                let ray = Prepared::new(ray);
                tree.nearest_traverse_iterator(&ray.ray, shapes).next().and_then(|shape| ray.hit(shape))
            }),
            // For a ray with an end, hits beyond it come last in the order of the ray; in any other order, all would be
            // visited.
            QueryBatch::AnyHits(rays) => Answers::any(rays, |ray| {
                let ray = Prepared::new(ray);
                if ray.limit.is_infinite() {
                    return tree.traverse_iterator(&ray.ray, shapes).any(|shape| ray.hit(shape).is_some());
                }
                tree.nearest_traverse_iterator(&ray.ray, shapes).next().is_some_and(|shape| ray.hit(shape).is_some())
            }),
            QueryBatch::AllHits(rays) => Answers::all_hits(rays, |ray, hits| {
                let ray = Prepared::new(ray);
                if ray.limit.is_infinite() {
                    hits.extend(tree.traverse_iterator(&ray.ray, shapes).filter_map(|shape| ray.hit(shape)));
                } else {
                    hits.extend(tree.nearest_traverse_iterator(&ray.ray, shapes).map_while(|shape| ray.hit(shape)));
                }
            }),
            QueryBatch::Overlaps(boxes) => Answers::overlaps(boxes, |aabb, found| {
                let query = Bounds::with_bounds(aabb.min.into(), aabb.max.into());
                found.extend(tree.traverse_iterator(&query, shapes).map(|shape| shape.id));
            }),
            QueryBatch::Nearest(..) => return Ok(None),
        }))
    }
}
