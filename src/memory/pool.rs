//! Buffers that a submission leases while it is in flight.

use std::sync::{Arc, Weak};

/// A buffer leased from a [`Pool`]; dropping the last clone ends the lease.
pub(crate) type Lease<T> = Arc<T>;

/// Buffers of one size, each leased to one submission at a time.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    items: Vec<Arc<T>>,
    /// Buffers of an earlier size, while they are leased.
    old: Vec<Weak<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { items: Vec::new(), old: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Leases a free buffer; `None` if all are leased.
    pub fn lease(&self) -> Option<Lease<T>> {
        self.items.iter().find(|item| Arc::strong_count(item) == 1).cloned()
    }

    /// Returns any buffer.
    pub fn any(&self) -> Option<&T> {
        self.items.first().map(|item| &**item)
    }

    /// Returns the count of buffers of this size.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds a buffer.
    pub fn add(&mut self, item: T) {
        self.items.push(Arc::new(item));
    }

    /// Releases all buffers; a leased buffer exists until its lease ends.
    pub fn clear(&mut self) {
        self.old.retain(|old| old.strong_count() > 0);
        self.old
            .extend(self.items.drain(..).filter(|item| Arc::strong_count(item) > 1).map(|item| Arc::downgrade(&item)));
    }

    /// Calls `each` with every buffer of this size.
    pub fn each(&self, mut each: impl FnMut(&T)) {
        self.items.iter().for_each(|item| each(item));
    }

    /// Sums `bytes` over all buffers, including leased buffers of an earlier size.
    pub fn bytes(&self, bytes: impl Fn(&T) -> u64) -> u64 {
        let old = self.old.iter().filter_map(Weak::upgrade);
        self.items.iter().cloned().chain(old).map(|item| bytes(&item)).sum()
    }

    /// Sums `bytes` over the leased buffers.
    pub fn leased_bytes(&self, bytes: impl Fn(&T) -> u64) -> u64 {
        let old = self.old.iter().filter_map(Weak::upgrade);
        let leased = self.items.iter().filter(|item| Arc::strong_count(item) > 1).cloned();
        leased.chain(old).map(|item| bytes(&item)).sum()
    }
}
