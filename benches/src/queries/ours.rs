//! Our trees.

use anyhow::Result;
use broadsweep::{Aabb, QueryEngine};

use super::{Answerer, Asked, Found};

/// A tree on either engine.
pub struct Ours<E>(pub E);

impl<E: QueryEngine> Answerer for Ours<E> {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        self.0.build(boxes)?;
        Ok(())
    }

    fn ask(&mut self, asked: &Asked) -> Result<Option<Found>> {
        Ok(Some(match asked {
            Asked::NearestHits(rays) => Found::Hits(self.0.nearest_hits(rays)?.answers),
            Asked::AnyHits(rays) => Found::Any(self.0.any_hits(rays)?.answers),
            Asked::AllHits(rays) => Found::AllHits(self.0.all_hits(rays)?),
            Asked::Overlaps(boxes) => Found::Overlaps(self.0.overlaps(boxes)?),
            Asked::Nearest(points, k) => Found::Near(self.0.nearest(points, *k)?),
        }))
    }
}
