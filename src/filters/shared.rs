//! Filters that a tree takes of a broad phase, with what of them lies on the device.
//!
//! Both read the same buffers. What changes them in the broad phase is counted, and each call of a tree which took them before looks at the
//! count in the beginning, and unless it records, in the end: so no answer is by half of the old ones and half of the new.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use super::Filters;
use super::device::{FilterSet, on_device};
use super::recorded::WORLD;
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::table::STORAGE;

/// How often filters were changed: all that queries read, and of that what the nodes of a tree are made by.
#[derive(Debug, Default)]
pub struct Changes {
    all: AtomicU64,
    of_nodes: AtomicU64,
}

impl Changes {
    fn so_far(&self) -> [u64; 2] {
        [self.all.load(Relaxed), self.of_nodes.load(Relaxed)]
    }
}

/// The filters from which others were taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// How often those are changed.
    changes: Arc<Changes>,
    /// How often they had been.
    seen: [u64; 2],
    /// There as long as those hold the lists on the device that are in use here, too; none where these have lists of their own.
    lists: Option<Weak<()>>,
}

impl Taken {
    /// Returns the same with lists of its own.
    pub fn without_lists(self) -> Self {
        Self { lists: None, ..self }
    }
}

/// The lists that queries read.
const READ: [&str; 6] = ["group", "mask", "body", "parent", WORLD, MARGIN];
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
            shared.taken = shared.taken.map(|taken| Taken { lists: Some(Arc::downgrade(&self.lists_held)), ..taken });
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
        copied.taken = Some(Taken { changes: Arc::clone(&self.changes), seen: self.changes.so_far(), lists: None });
        Ok(copied)
    }

    /// Returns whether the set from which these were taken holds the same lists, and has them in its account.
    pub fn are_shared(&self) -> bool {
        let lists = self.taken.as_ref().and_then(|taken| taken.lists.as_ref());
        lists.is_some_and(|lists| lists.strong_count() > 0)
    }

    /// Returns whether nodes that were made by these filters are those of others, too.
    pub fn make_nodes_of(&self, other: &Self) -> bool {
        let seen = |set: &Self| set.taken.as_ref().map(|taken| (Arc::as_ptr(&taken.changes), taken.seen[1]));
        if seen(self).is_some() && seen(self) == seen(other) {
            return true;
        }
        // What the device alone knows, or knew for a while, is not to be compared.
        let is_known = |set: &Self| {
            let stayed = set.taken.as_ref().is_none_or(|taken| taken.changes.so_far()[1] == taken.seen[1]);
            stayed && !set.on_device.contains(&MARGIN)
        };
        let (own, of_other) = (self.filters(), other.filters());
        is_known(self) && is_known(other) && own.world == of_other.world && own.margin == of_other.margin
    }

    /// Checks that the filters were not changed where they were taken.
    ///
    /// # Errors
    /// [`Error::FiltersChanged`].
    pub fn check_taken(&self) -> Result<(), Error> {
        match &self.taken {
            Some(taken) if taken.changes.so_far() != taken.seen => Err(Error::FiltersChanged),
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
