//! How often filters were changed, and from which others were taken.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// How often filters were changed: all that queries read, and of that what the nodes of a tree are made by.
#[derive(Debug, Default)]
pub struct ChangeCounts {
    pub all: AtomicU64,
    pub of_nodes: AtomicU64,
}

impl ChangeCounts {
    /// Returns both counts.
    pub fn so_far(&self) -> [u64; 2] {
        [self.all.load(Relaxed), self.of_nodes.load(Relaxed)]
    }
}

/// The filters from which others were taken.
#[derive(Clone, Debug)]
pub struct FilterSource {
    /// How often those are changed.
    pub changes: Arc<ChangeCounts>,
    /// How often they had been.
    pub seen: [u64; 2],
    /// There as long as those hold the lists on the device that are in use here, too; none where these have lists of their own.
    pub lists: Option<Weak<()>>,
}

impl FilterSource {
    /// Returns the same with lists of its own.
    pub fn without_lists(self) -> Self {
        Self { lists: None, ..self }
    }
}
