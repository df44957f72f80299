//! obvhs' `Bvh2`, with the boxes themselves as its primitives, in the order of its leaves.
//!
//! Its own test of a ray and a box gives a negative distance if the ray starts in the box, and a hit must be below the
//! limit. So zero and the next number above the limit replace them.

use std::time::Duration;

use anyhow::Result;
use broadsweep::{Aabb, Hit, Ray};
use obvhs::BvhBuildParams;
use obvhs::aabb::Aabb as Bounds;
use obvhs::bvh2::Bvh2;
use obvhs::bvh2::builder::build_bvh2;
use obvhs::ray::{Ray as ObvhsRay, RayHit};

use crate::queries::{Answerer, Answers, QueryBatch};

/// The tree, and the boxes in the order of its leaves.
#[derive(Default)]
pub struct Obvhs {
    tree: Bvh2,
    leaves: Vec<(Bounds, u32)>,
}

fn bounds(aabb: &Aabb) -> Bounds {
    Bounds::new(aabb.min.into(), aabb.max.into())
}

fn prepared(ray: &Ray) -> ObvhsRay {
    ObvhsRay::new(ray.origin.into(), ray.direction.into(), 0.0, ray.limit.next_up())
}

impl Obvhs {
    fn enter(&self, leaf: usize, ray: &ObvhsRay) -> f32 {
        self.leaves[leaf].0.intersect_ray(ray).max(0.0)
    }

    fn nearest_hit(&self, ray: &Ray) -> Option<Hit> {
        let mut hit = RayHit::none();
        self.tree.ray_traverse(prepared(ray), &mut hit, |ray, leaf| self.enter(leaf, ray));
        let (_, index) = self.leaves.get(hit.primitive_id as usize)?;
        Some(Hit { index: *index, t: hit.t })
    }

    fn all_hits(&self, ray: &Ray, hits: &mut Vec<Hit>) {
        self.tree.ray_traverse_anyhit(prepared(ray), |ray, leaf| {
            let t = self.enter(leaf, ray);
            if t < ray.tmax {
                hits.push(Hit { index: self.leaves[leaf].1, t });
            }
        });
    }

    fn overlaps(&self, aabb: &Aabb, found: &mut Vec<u32>) {
        let query = bounds(aabb);
        self.tree.aabb_traverse(query, |tree, node| {
            let node = &tree.nodes[node as usize];
            let leaves = &self.leaves[node.first_index as usize..][..node.prim_count as usize];
            found.extend(leaves.iter().filter(|(own, _)| own.intersect_aabb(&query)).map(|(_, id)| id));
            true
        });
    }
}

impl Answerer for Obvhs {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        let (ids, valid): (Vec<u32>, Vec<Bounds>) =
            crate::peers::valid(boxes).map(|(id, aabb)| (id, bounds(aabb))).unzip();
        self.tree = build_bvh2(&valid, BvhBuildParams::medium_build(), &mut Duration::default());
        let leaf = |&at: &u32| (valid[at as usize], ids[at as usize]);
        self.leaves = self.tree.primitive_indices.iter().map(leaf).collect();
        Ok(())
    }

    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>> {
        Ok(Some(match batch {
            QueryBatch::NearestHits(rays) => Answers::hits(rays, |ray| self.nearest_hit(ray)),
            QueryBatch::AnyHits(rays) => {
                Answers::any(rays, |ray| !self.tree.ray_traverse_miss(prepared(ray), |ray, leaf| self.enter(leaf, ray)))
            }
            QueryBatch::AllHits(rays) => Answers::all_hits(rays, |ray, hits| self.all_hits(ray, hits)),
            QueryBatch::Overlaps(boxes) => Answers::overlaps(boxes, |aabb, found| self.overlaps(aabb, found)),
            QueryBatch::Nearest(..) => return Ok(None),
        }))
    }
}
