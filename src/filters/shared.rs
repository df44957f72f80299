//! Shares the filters of a broad phase with a tree, including values that exist only on the device.
//!
//! Broad phase and tree read the same buffers. The broad phase counts its changes. A call of the tree compares this
//! count with the count at the time of sharing. It does so at its beginning and, unless it records, also at its end. So
//! no answer mixes old and new filters.

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
const READ: [&str; 8] = ["group", "mask", "body", "parent", SPHERE, HALF_SPACES, WORLD, MARGIN];
const HALF_SPACES: &str = "half_spaces";
const MARGIN: &str = "margin";
const SPHERE: &str = "sphere";

impl FilterSet {
    /// Returns the same filters for queries, with the same lists on the device. The filters must be
    /// [uploaded](Self::upload) for `box_count` boxes. The prepared boxes have a separate buffer, since every build
    /// overwrites them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the errors of [`upload`](Self::upload).
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

    /// Returns a copy of the filters for queries on this device. The next call uploads them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn copied(&self, gpu: &Gpu) -> Result<Self, Error> {
        let filters = self.filters();
        let mut copied = if filters.exclude_at_most == 0 {
            Self::of(gpu, Arc::clone(self.checked()))?
        } else {
            // Queries read no lists of pairs.
            Self::new(gpu, Filters { exclude_at_most: 0, ..filters.clone() })?
        };
        copied.on_device = self.on_device.iter().copied().filter(|list| READ.contains(list)).collect();
        copied.source =
            Some(FilterSource { changes: Arc::clone(&self.changes), seen: self.changes.so_far(), lists: None });
        Ok(copied)
    }

    /// Returns `true` if the source still has the same lists. Then the source counts their memory.
    pub fn are_shared(&self) -> bool {
        let lists = self.source.as_ref().and_then(|source| source.lists.as_ref());
        lists.is_some_and(|lists| lists.strong_count() > 0)
    }

    /// Returns `true` if these filters and `other` result in the same nodes of a tree.
    pub fn build_same_nodes(&self, other: &Self) -> bool {
        let seen = |set: &Self| set.source.as_ref().map(|source| (Arc::as_ptr(&source.changes), source.seen[1]));
        if seen(self).is_some() && seen(self) == seen(other) {
            return true;
        }
        // Values that are only on the device, or came from it, cannot be compared.
        let is_known = |set: &Self| {
            let stayed = set.source.as_ref().is_none_or(|source| source.changes.so_far()[1] == source.seen[1]);
            stayed && !set.on_device.contains(&MARGIN)
        };
        let (own, of_other) = (self.filters(), other.filters());
        let have_same = own.world == of_other.world && own.margin == of_other.margin;
        is_known(self) && is_known(other) && have_same && self.checked().has_half_spaces_of(other.checked())
    }

    /// Checks that the source has not changed.
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

    /// Counts a change of all lists.
    pub fn note_others(&self) {
        READ.iter().for_each(|list| self.note_change(list));
    }

    /// Checks that these filters may be changed. If they have a source, all values must exist on the host, since they
    /// are uploaded again.
    ///
    /// # Errors
    /// [`Error::FiltersChanged`]; [`Error::BadFilter`].
    pub fn check_may_leave(&self) -> Result<(), Error> {
        self.check_source()?;
        if self.source.is_some() { self.check_on_host() } else { Ok(()) }
    }

    /// Ends the sharing: the next call uploads these filters, and the source stays unchanged.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn leave(&mut self, gpu: &Gpu) -> Result<(), Error> {
        self.source = None;
        self.unload(gpu)
    }

    /// Checks that the filters fit this many boxes of a tree. Worlds must exist on the host, since they decide the
    /// places of boxes in the tree.
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit); [`Error::BadFilter`] if the worlds exist only on the device. With half-spaces,
    /// this also holds for the other lists that queries read, except margins and spheres.
    pub fn fit_for_queries(&mut self, box_count: usize) -> Result<(), Error> {
        if self.on_device.contains(&WORLD) {
            return Err(on_device(WORLD, "and a tree needs the worlds on the host; replace them with `set_filters`"));
        }
        if !self.checked().half_spaces().is_empty()
            && let Some(list) =
                self.on_device.iter().find(|list| READ.contains(list) && ![MARGIN, SPHERE].contains(*list))
        {
            return Err(on_device(
                list,
                "and queries of half-spaces need it on the host; replace it with `set_filters`",
            ));
        }
        self.fit(box_count)
    }

    /// Returns an error if there are half-spaces.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    pub fn check_no_half_spaces(&self) -> Result<(), Error> {
        if self.checked().half_spaces().is_empty() {
            return Ok(());
        }
        let problem = "is set; recorded queries do not support half-spaces, so query from host memory".to_owned();
        Err(Error::BadFilter { list: HALF_SPACES, index: None, problem })
    }
}
