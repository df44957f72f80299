//! Our trees.

use anyhow::Result;
use broadsweep::{Aabb, QueryEngine};

use super::{Answerer, Answers, QueryBatch};

/// A tree on either engine.
pub struct Ours<E>(pub E);

impl<E: QueryEngine> Answerer for Ours<E> {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        self.0.build(boxes)?;
        Ok(())
    }

    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>> {
        Ok(Some(match batch {
            QueryBatch::NearestHits(rays) => Answers::Hits(self.0.nearest_hits(rays)?.answers),
            QueryBatch::AnyHits(rays) => Answers::Any(self.0.any_hits(rays)?.answers),
            QueryBatch::AllHits(rays) => Answers::AllHits(self.0.all_hits(rays)?),
            QueryBatch::Overlaps(boxes) => Answers::Overlaps(self.0.overlaps(boxes)?),
            QueryBatch::Nearest(points, k) => Answers::Near(self.0.nearest(points, *k)?),
        }))
    }
}
