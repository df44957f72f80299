//! Filters that a tree takes of a broad phase, with what of them lies on the device.
//!
//! Both read the same buffers. What changes them is counted, so that a tree which took them before says so, and does not answer with half of
//! the old and half of the new.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::device::{FilterBuffers, FilterSet, on_device};
use super::recorded::WORLD;
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::table::STORAGE;

/// How often filters were changed.
pub type Changes = Arc<AtomicU64>;

/// Where filters were taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// How often those are changed.
    changes: Changes,
    /// How often they had been.
    seen: u64,
    /// Whether their buffers are in use, too.
    has_buffers: bool,
}

impl Taken {
    /// Returns the same without their buffers.
    pub fn without_buffers(self) -> Self {
        Self { has_buffers: false, ..self }
    }
}

impl FilterSet {
    /// Returns the same filters for queries, with the same buffers, which have to be [uploaded](Self::upload) for this many boxes. What
    /// is written anew by each search has a buffer of its own.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; those of [`upload`](Self::upload).
    pub fn share(&self, gpu: &Gpu, box_count: usize) -> Result<Self, Error> {
        let mut shared = self.copied(gpu)?;
        if !self.filters().is_empty() {
            self.check_uploaded(box_count)?;
            let prepared = self.buffers.prepared_boxes.len();
            let prepared_boxes = Buffer::new(gpu, "prepared_boxes", prepared, STORAGE)?;
            shared.lists = self.lists.clone();
            shared.buffers = FilterBuffers { prepared_boxes, ..self.buffers.clone() };
            shared.uploaded = self.uploaded;
            shared.taken = shared.taken.map(|taken| Taken { has_buffers: true, ..taken });
        }
        Ok(shared)
    }

    /// Returns the same filters for queries on this device, which uploads them anew.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn copied(&self, gpu: &Gpu) -> Result<Self, Error> {
        let mut copied = Self::of(gpu, Arc::clone(self.checked()))?;
        copied.on_device.clone_from(&self.on_device);
        copied.taken =
            Some(Taken { changes: Arc::clone(&self.changes), seen: self.changes.load(Relaxed), has_buffers: false });
        Ok(copied)
    }

    /// Returns whether another set has the same buffers.
    pub fn are_shared(&self) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.has_buffers)
    }

    /// Checks that the filters were not changed where they were taken.
    ///
    /// # Errors
    /// [`Error::FiltersChanged`].
    pub fn check_taken(&self) -> Result<(), Error> {
        match &self.taken {
            Some(taken) if taken.changes.load(Relaxed) != taken.seen => Err(Error::FiltersChanged),
            _ => Ok(()),
        }
    }

    /// Returns whether margins have values that the device alone knows.
    pub fn has_margins_of_device(&self) -> bool {
        self.on_device.contains(&"margin")
    }

    /// Counts a change.
    pub fn note_change(&self) {
        self.changes.fetch_add(1, Relaxed);
    }

    /// Gives up what is shared: the filters are uploaded anew by the next call, and those of which they were taken stay as they are.
    ///
    /// # Errors
    /// [`Error::FiltersChanged`]; [`Error::BadFilter`] where the device alone knows some; [`Error::OutOfMemory`].
    pub fn leave(&mut self, gpu: &Gpu) -> Result<(), Error> {
        if self.taken.is_none() {
            return Ok(());
        }
        self.check_taken()?;
        self.check_on_host()?;
        self.unload(gpu)?;
        self.taken = None;
        Ok(())
    }

    /// Checks that the filters fit this many boxes of a tree: kernels read what the device alone knows, but worlds are places among its
    /// leaves.
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit), if the host does not know the worlds.
    pub fn fit_for_queries(&mut self, box_count: usize) -> Result<(), Error> {
        if self.on_device.contains(&WORLD) {
            return Err(on_device(WORLD, "and trees are not built of worlds that the host does not know"));
        }
        self.fit_recorded(box_count)
    }
}
