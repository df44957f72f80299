//! Filters that a tree takes of a broad phase, with what of them lies on the device.
//!
//! Both read the same buffers. What changes them in the broad phase is counted, and each call of a tree which took them before looks at the
//! count in the beginning, and unless it records, in the end: so no answer is by half of the old ones and half of the new.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Filters;
use super::changes::FilterSource;
use super::device::{FilterSet, on_device};
use super::recorded::WORLD;
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::table::STORAGE;

/// The lists that queries read.
const READ: [&str; 7] = ["group", "mask", "body", "parent", HALF_SPACES, WORLD, MARGIN];
const HALF_SPACES: &str = "half_spaces";
const MARGIN: &str = "margin";

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
            shared.source =
                shared.source.map(|source| FilterSource { lists: Some(Arc::downgrade(&self.lists_alive)), ..source });
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
        copied.source =
            Some(FilterSource { changes: Arc::clone(&self.changes), seen: self.changes.so_far(), lists: None });
        Ok(copied)
    }

    /// Returns whether the set from which these were taken holds the same lists, and has them in its account.
    pub fn are_shared(&self) -> bool {
        let lists = self.source.as_ref().and_then(|source| source.lists.as_ref());
        lists.is_some_and(|lists| lists.strong_count() > 0)
    }

    /// Returns whether nodes that were made by these filters are those of others, too.
    pub fn build_same_nodes(&self, other: &Self) -> bool {
        let seen = |set: &Self| set.source.as_ref().map(|source| (Arc::as_ptr(&source.changes), source.seen[1]));
        if seen(self).is_some() && seen(self) == seen(other) {
            return true;
        }
        // What the device alone knows, or knew for a while, is not to be compared.
        let is_known = |set: &Self| {
            let stayed = set.source.as_ref().is_none_or(|source| source.changes.so_far()[1] == source.seen[1]);
            stayed && !set.on_device.contains(&MARGIN)
        };
        let (own, of_other) = (self.filters(), other.filters());
        let have_same = own.world == of_other.world && own.margin == of_other.margin;
        is_known(self) && is_known(other) && have_same && self.checked().has_half_spaces_of(other.checked())
    }

    /// Checks that the filters were not changed where they were taken.
    ///
    /// # Errors
    /// [`Error::FiltersChanged`].
    pub fn check_source(&self) -> Result<(), Error> {
        match &self.source {
            Some(source) if source.changes.so_far() != source.seen => Err(Error::FiltersChanged),
            _ => Ok(()),
        }
    }

    /// Counts a change of a list, if queries read it.
    pub fn note_change(&self, list: &str) {
        if [WORLD, MARGIN].contains(&list) {
            self.changes.of_nodes.fetch_add(1, Relaxed);
        }
        if READ.contains(&list) {
            self.changes.all.fetch_add(1, Relaxed);
        }
    }

    /// Counts that there are other filters.
    pub fn note_others(&self) {
        READ.iter().for_each(|list| self.note_change(list));
    }

    /// Checks that these filters may be changed: where they were taken, the host has to know them, since they are uploaded anew.
    ///
    /// # Errors
    /// [`Error::FiltersChanged`]; [`Error::BadFilter`].
    pub fn check_may_leave(&self) -> Result<(), Error> {
        self.check_source()?;
        if self.source.is_some() { self.check_on_host() } else { Ok(()) }
    }

    /// Gives up what is shared: the filters are uploaded anew by the next call, and those of which they were taken stay as they are.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn leave(&mut self, gpu: &Gpu) -> Result<(), Error> {
        self.source = None;
        self.unload(gpu)
    }

    /// Checks that the filters fit this many boxes of a tree: kernels read what the device alone knows, but worlds are places among its
    /// leaves.
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit); [`Error::BadFilter`] where the host does not know the worlds, or beside half-spaces another list.
    pub fn fit_for_queries(&mut self, box_count: usize) -> Result<(), Error> {
        if self.on_device.contains(&WORLD) {
            return Err(on_device(WORLD, "and trees are not built of worlds that the host does not know"));
        }
        if !self.checked().half_spaces().is_empty()
            && let Some(list) = self.on_device.iter().find(|list| READ.contains(list) && **list != MARGIN)
        {
            return Err(on_device(list, "and queries of half-spaces need the host to know it"));
        }
        self.fit(box_count)
    }

    /// Refuses half-spaces.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    pub fn check_no_half_spaces(&self) -> Result<(), Error> {
        if self.checked().half_spaces().is_empty() {
            return Ok(());
        }
        let problem = "is a half-space, and recorded queries know none; query from host memory".to_owned();
        Err(Error::BadFilter { list: HALF_SPACES, index: 0, problem })
    }
}
