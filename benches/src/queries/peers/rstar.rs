//! rstar's R*-tree. It knows no rays.

use anyhow::Result;
use broadsweep::Aabb;
use broadsweep::query::Near;
use rstar::AABB as Envelope;

use crate::peers::rstar::{Loaded, load};
use crate::queries::{Answerer, Asked, Found};

/// The tree.
#[derive(Default)]
pub struct Rstar(Loaded);

impl Answerer for Rstar {
    fn build(&mut self, boxes: &[Aabb]) -> Result<()> {
        self.0 = load(boxes);
        Ok(())
    }

    fn ask(&mut self, asked: &Asked) -> Result<Option<Found>> {
        let tree = &self.0;
        Ok(match asked {
            Asked::Overlaps(boxes) => Some(Found::overlaps(boxes, |aabb, found| {
                let asked = Envelope::from_corners(aabb.min, aabb.max);
                found.extend(tree.locate_in_envelope_intersecting(asked).map(|leaf| leaf.data));
            })),
            Asked::Nearest(points, k) => Some(Found::near(points, |query, near| {
                let found = tree.nearest_neighbor_iter_with_distance_2(query.point).take(*k);
                near.extend(found.map(|(leaf, squared_distance)| Near { index: leaf.data, squared_distance }));
            })),
            _ => None,
        })
    }
}
