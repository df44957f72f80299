//! Change counts of filters, and the source of shared filters.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// Counts of changes. `all` counts the changes of all lists that queries read. `of_nodes` counts only the changes of
/// lists from which the nodes of a tree are built.
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

/// The source of copied or shared filters.
#[derive(Clone, Debug)]
pub struct FilterSource {
    /// The change counts of the source.
    pub changes: Arc<ChangeCounts>,
    /// The counts at the time of the copy.
    pub seen: [u64; 2],
    /// Alive as long as the source has the shared lists on the device. `None` if these filters have separate lists.
    pub lists: Option<Weak<()>>,
}

impl FilterSource {
    /// Returns the same source, without shared lists.
    pub fn without_lists(self) -> Self {
        Self { lists: None, ..self }
    }
}
