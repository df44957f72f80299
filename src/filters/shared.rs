//! Filters that a tree takes of a broad phase, with what of them lies on the device.
//!
//! Both read the same buffers. What changes them in the broad phase is counted, and each call of a tree which took them before looks at the
//! count in the beginning and in the end, so that no answer is by half of the old ones and half of the new.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Filters;
use super::device::{FilterSet, on_device};
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

/// The lists that queries read.
const READ: [&str; 6] = ["group", "mask", "body", "parent", WORLD, "margin"];

impl FilterSet {
    /// Returns the same filters for queries, with the same lists on the device, which have to be [uploaded](Self::upload) for this many
    /// boxes. Boxes as they are searched, which every build writes anew, have a buffer of their own.
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
            shared.buffers.margins = self.buffers.margins.clone();
            shared.buffers.half_space_bits = self.buffers.half_space_bits.clone();
            shared.buffers.prepared_boxes = prepared_boxes;
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
        let filters = self.filters();
        let mut copied = if filters.exclude_at_most == 0 {
            Self::of(gpu, Arc::clone(self.checked()))?
        } else {
            // Queries look at no lists of pairs.
            Self::new(gpu, Filters { exclude_at_most: 0, ..filters.clone() })?
        };
        copied.on_device = self.on_device.iter().copied().filter(|list| READ.contains(list)).collect();
        copied.taken =
            Some(Taken { changes: Arc::clone(&self.changes), seen: self.changes.load(Relaxed), has_buffers: false });
        Ok(copied)
    }

    /// Returns whether another set has the same lists, and counts them.
    pub fn are_shared(&self) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.has_buffers) && self.lists.words.has_other_owners()
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

    /// Counts a change of a list, if queries read it.
    pub fn note_change(&self, list: &str) {
        if READ.contains(&list) {
            self.note_others();
        }
    }

    /// Counts that there are other filters.
    pub fn note_others(&self) {
        self.changes.fetch_add(1, Relaxed);
    }

    /// Checks that the host knows what queries read, before it is uploaded anew.
    ///
    /// # Errors
    /// [`Error::FiltersChanged`]; [`Error::BadFilter`].
    pub fn check_may_leave(&self) -> Result<(), Error> {
        self.check_taken()?;
        match self.on_device.iter().find(|list| READ.contains(list)) {
            Some(list) if self.taken.is_some() => Err(on_device(list, "and the tree has it of a broad phase")),
            _ => Ok(()),
        }
    }

    /// Gives up what is shared: the filters are uploaded anew by the next call, and those of which they were taken stay as they are.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn leave(&mut self, gpu: &Gpu) -> Result<(), Error> {
        self.taken = None;
        self.unload(gpu)
    }

    /// Checks that the host knows what queries read.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    pub fn check_read_on_host(&self) -> Result<(), Error> {
        match self.on_device.iter().find(|list| READ.contains(list)) {
            Some(list) => Err(on_device(list, "and the tree is on another device")),
            None => Ok(()),
        }
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
