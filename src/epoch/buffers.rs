//! What is kept from step to step: [`EpochBuffers`].

use bytemuck::Zeroable;

use crate::constants::{EPOCH_SAMPLE, EPOCH_TILE, EVENT_TILE};
use crate::gpu::Gpu;
use crate::gpu::table::{CONSTANT, SIZES, STORAGE, buffer_table};
use crate::layout::{Epoch, EpochSizes, Params};
use crate::{Aabb, Error, Pair};

/// How much there is room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpochRoom {
    /// Boxes.
    pub slots: u64,
    /// Pairs of grown boxes.
    pub pairs: u64,
}

impl EpochRoom {
    /// Counts the words that mark cells: two bytes for each box, a power of two.
    pub fn cell_words(&self) -> u64 {
        self.slots.div_ceil(2).max(1).next_power_of_two()
    }

    /// Counts the tiles of pairs.
    fn tiles(&self) -> u64 {
        self.pairs.div_ceil(u64::from(EVENT_TILE))
    }
}

buffer_table! {
    /// The buffers of an epoch.
    pub struct EpochBuffers(room: EpochRoom) {
        /// `[slots]` the grown boxes.
        fat: [Aabb; room.slots], STORAGE;
        /// `[slots]` those that are searched in this step: one behind the other, or with NaNs in place of the others.
        searched: [Aabb; room.slots], STORAGE;
        /// `[slots]` the slot of each of these that lie one behind the other.
        searched_ids: [u32; room.slots], STORAGE;
        /// `[slots]` bits: which boxes are searched.
        searched_bits: [u32; 32 * room.slots.div_ceil(EVENT_TILE.into())], STORAGE;
        /// How many of each tile.
        searched_tiles: [u32; room.slots.div_ceil(EVENT_TILE.into())], STORAGE;
        /// `[slots]` the boxes of the last step.
        last: [Aabb; room.slots], STORAGE;
        /// What each of 32 boxes did in this step, bits: moved, left its grown box, and is gone.
        moves: [[u32; 4]; room.slots.div_ceil(32)], STORAGE;
        /// What each of 32 boxes did, bits: moved, left its grown box in this step, and since the epoch began.
        states: [[u32; 4]; room.slots.div_ceil(32)], STORAGE;
        /// How many of each tile left their grown boxes in this step, since the epoch began, and moved.
        escape_tiles: [[u32; 4]; room.slots.div_ceil(EPOCH_TILE.into())], STORAGE;
        /// A bit for each hash of a cell, and a word.
        marks: [u32; room.cell_words() + 1], STORAGE;
        /// The boxes of a sample as they were in the last step.
        sample: [Aabb; EPOCH_SAMPLE.into()], STORAGE;
        /// `[pairs]` the pairs of the grown boxes as the epoch began, in canonical order.
        kept: [Pair; room.pairs], STORAGE;
        /// `[pairs]` bits: which of these overlap, and have no box that left.
        kept_stays: [u32; 32 * room.tiles()], STORAGE;
        /// `[pairs]` bits: of which of these that is to change in this step.
        flips: [u32; 32 * room.tiles()], STORAGE;
        /// How many of each tile overlap.
        kept_tiles: [u32; room.tiles()], STORAGE;
        /// How many pairs of boxes that left come between each 32 of these.
        between: [u32; 32 * room.tiles()], STORAGE;
        /// How many between those of each tile.
        between_tiles: [u32; room.tiles()], STORAGE;
        /// How many pairs of either list come before each 32 of these within their tile, and between them.
        ranks: [[u32; 4]; 32 * room.tiles()], STORAGE;
        /// `[pairs]` the pairs of boxes that left, as they are grown now.
        apart: [Pair; room.pairs], STORAGE;
        /// `[pairs]` those of boxes that left in this step; then those that overlap of all that left.
        fresh: [Pair; room.pairs], STORAGE;
        /// `[pairs]` bits: which pairs of another list stay.
        stays: [u32; 32 * room.tiles()], STORAGE;
        /// How many of each tile.
        stay_tiles: [u32; room.tiles()], STORAGE;
        /// What is known of the epoch.
        epoch: [Epoch; 1], STORAGE;
        /// The sizes of dispatches.
        epoch_sizes: [EpochSizes; 1], SIZES;
        /// How many boxes are searched grown.
        grown_count: [u32; 1], STORAGE;
        /// How many are searched as they are.
        direct_count: [u32; 1], STORAGE;
        /// The parameters of a step whose number of boxes lies in a buffer.
        step_params as "params": [Params; 1], CONSTANT;
    }
}

buffer_table! {
    /// The boxes of steps of which the caller says what moved.
    pub struct StepBoxes(slots: u64) {
        /// `[slots]` those of the last step, as they come.
        own_boxes: [Aabb; *slots], STORAGE;
        /// `[1 + 7 * most]` how many moved; of each its index, and the bits of its bounds.
        moved_boxes: [u32; 1 + 7 * most_moved(*slots)], STORAGE;
    }
}

/// Returns how many boxes that moved are uploaded alone, at most: of more, all are.
pub fn most_moved(slots: u64) -> u64 {
    slots / 8
}

impl EpochBuffers {
    /// Allocates room for an epoch. There is none yet.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn empty(gpu: &Gpu, room: &EpochRoom) -> Result<Self, Error> {
        let buffers = Self::new(gpu, room)?;
        let scopes = gpu.open_scopes();
        buffers.epoch.write(gpu, &[Epoch::zeroed()]);
        buffers.epoch_sizes.write(gpu, &[EpochSizes::zeroed()]);
        scopes.close("epoch")?;
        Ok(buffers)
    }

    /// Records what has to be zero before the first pass of a step.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        for buffer in [self.moves.raw(), self.marks.raw(), self.flips.raw(), self.between.raw()] {
            encoder.clear_buffer(buffer, 0, None);
        }
    }
}
