//! The structures of the literature.

use anyhow::Result;
use broadsweep::{Aabb, Hit};

use super::{Answerer, Answers, QueryBatch};
use crate::baselines::aabb_tree::AabbTree;
use crate::baselines::ray_grid::RayGrid;
use crate::baselines::slabs;

/// The dynamic tree, built of all boxes at once. It does not know what is nearest to a point.
#[derive(Default)]
pub struct DynamicTree(AabbTree);

/// The grid, which knows rays alone.
#[derive(Default)]
pub struct Grid(RayGrid);

/// Returns a hit with its time in single precision, which rounds.
fn rounded(hit: slabs::Hit) -> Hit {
    Hit { index: hit.index, t: hit.t as f32 }
}

impl Answerer for DynamicTree {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        self.0 = AabbTree::build(boxes).0;
        Ok(())
    }

    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>> {
        let tree = &self.0;
        Ok(Some(match batch {
            QueryBatch::NearestHits(rays) => Answers::hits(rays, |ray| tree.nearest_hit(ray).map(rounded)),
            QueryBatch::AnyHits(rays) => Answers::any(rays, |ray| tree.any_hit(ray)),
            QueryBatch::AllHits(rays) => {
                Answers::all_hits(rays, |ray, hits| hits.extend(tree.all_hits(ray).into_iter().map(rounded)))
            }
            QueryBatch::Overlaps(boxes) => {
                Answers::overlaps(boxes, |aabb, found| found.append(&mut tree.overlaps(aabb)))
            }
            QueryBatch::Nearest(..) => return Ok(None),
        }))
    }
}

impl Answerer for Grid {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        self.0 = RayGrid::build(boxes);
        Ok(())
    }

    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>> {
        let grid = &self.0;
        Ok(Some(match batch {
            QueryBatch::NearestHits(rays) => Answers::hits(rays, |ray| grid.nearest_hit(ray).map(rounded)),
            QueryBatch::AnyHits(rays) => Answers::any(rays, |ray| grid.any_hit(ray)),
            QueryBatch::AllHits(rays) => {
                Answers::all_hits(rays, |ray, hits| hits.extend(grid.all_hits(ray).into_iter().map(rounded)))
            }
            QueryBatch::Overlaps(_) | QueryBatch::Nearest(..) => return Ok(None),
        }))
    }
}
