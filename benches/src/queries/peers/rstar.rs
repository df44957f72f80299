//! rstar's R*-tree. It knows no rays.

use anyhow::Result;
use broadsweep::Aabb;
use broadsweep::query::Near;
use rstar::AABB as Envelope;

use crate::peers::rstar::{Loaded, load};
use crate::queries::{Answerer, Answers, QueryBatch};

/// The tree.
#[derive(Default)]
pub struct Rstar(Loaded);

impl Answerer for Rstar {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        self.0 = load(boxes);
        Ok(())
    }

    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>> {
        let tree = &self.0;
        Ok(match batch {
            QueryBatch::Overlaps(boxes) => Some(Answers::overlaps(boxes, |aabb, found| {
                let query = Envelope::from_corners(aabb.min, aabb.max);
                found.extend(tree.locate_in_envelope_intersecting(query).map(|leaf| leaf.data));
            })),
            QueryBatch::Nearest(points, k) => Some(Answers::near(points, |query, near| {
                let found = tree.nearest_neighbor_iter_with_distance_2(query.point).take(*k);
                near.extend(found.map(|(leaf, squared_distance)| Near { index: leaf.data, squared_distance }));
            })),
            _ => None,
        })
    }
}
