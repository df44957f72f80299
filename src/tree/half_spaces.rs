//! Merges half-spaces into the answers of a tree.

use rayon::prelude::*;

use super::submission::{Recording, wait};
use super::{AsyncTree, Tree};
use crate::filters::NO_POINTS;
use crate::gpu::readback::Readback;
use crate::queries::{HalfSpaces, reserve};
use crate::{Aabb, Error};

impl AsyncTree<'_> {
    /// Returns the half-spaces of the filters, which are not in the tree, and the boxes on the host.
    pub(super) fn half_spaces(&self) -> HalfSpaces<'_> {
        HalfSpaces::new(self.tree.filters.checked(), &self.tree.boxes_on_host)
    }

    /// Merges half-spaces into ordered answers. If a half-space and a box have the same rounded time or distance, the
    /// host reads the boxes back, and `merge` runs again.
    pub(super) async fn merge(
        &mut self,
        mut merge: impl FnMut(&HalfSpaces<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let half_spaces = self.half_spaces();
        merge(&half_spaces)?;
        if half_spaces.lacks_boxes() {
            self.read_boxes().await?;
            merge(&self.half_spaces())?;
            if self.tree.is_recorded {
                // Recorded commands may run before the next call and change the boxes.
                self.tree.boxes_on_host = Vec::new();
            }
        }
        Ok(())
    }

    /// Reads the prepared boxes of the tree back to the host.
    async fn read_boxes(&mut self) -> Result<(), Error> {
        let Tree { gpu, allocated, built, .. } = &*self.tree;
        let (Some((_, buffers)), Some(built)) = (allocated, built) else { return Ok(()) };
        let box_count = built.capacity.boxes;
        let (of_boxes, of_places) = (box_count * size_of::<Aabb>() as u64, box_count * size_of::<u32>() as u64);
        let staging = Readback::staging(gpu, "boxes_on_host", (of_boxes + of_places).next_multiple_of(8))?;
        let mut recording = Recording::begin(gpu);
        let (nodes, places) = (buffers.nodes.raw(), buffers.places.raw());
        let first = u64::from(built.capacity.shape().first_box) * size_of::<[u32; 4]>() as u64;
        recording.encoder.copy_buffer_to_buffer(nodes, first, &staging, 0, of_boxes);
        recording.encoder.copy_buffer_to_buffer(places, 0, &staging, of_boxes, of_places);
        let submitted = recording.read(gpu, &staging, of_boxes + of_places)?;
        let readback = wait(gpu, submitted, self.waiting).await?;
        let count = box_count as usize;
        let mut boxes: Vec<Aabb> = Vec::new();
        reserve(&mut boxes, count)?;
        readback.read(0, 7 * count, |read: &[u32]| {
            let (leaves, places) = read.split_at(6 * count);
            let leaves: &[Aabb] = bytemuck::cast_slice(leaves);
            // If a recorded build never ran, places are arbitrary numbers.
            boxes.par_extend(places.par_iter().map(|&place| leaves.get(place as usize).copied().unwrap_or(NO_POINTS)));
        })?;
        self.tree.boxes_on_host = boxes;
        Ok(())
    }
}
