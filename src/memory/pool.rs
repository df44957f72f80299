//! Buffers that a submission has to itself while it is in flight.

use std::sync::{Arc, Weak};

/// A buffer lent from a [`Pool`]; it goes back when the last clone is dropped.
pub(crate) type Lease<T> = Arc<T>;

/// Buffers of one size, lent one at a time.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    slots: Vec<Arc<T>>,
    /// Buffers of an earlier size, as long as a submission has them.
    old: Vec<Weak<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), old: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Lends a buffer that nobody has.
    pub fn lease(&self) -> Option<Lease<T>> {
        self.slots.iter().find(|slot| Arc::strong_count(slot) == 1).cloned()
    }

    /// Returns any buffer.
    pub fn any(&self) -> Option<&T> {
        self.slots.first().map(|slot| &**slot)
    }

    /// Returns how many buffers there are of this size.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a buffer.
    pub fn add(&mut self, item: T) {
        self.slots.push(Arc::new(item));
    }

    /// Gives up all buffers; a buffer that a submission has stays with it.
    pub fn clear(&mut self) {
        self.old.retain(|old| old.strong_count() > 0);
        self.old
            .extend(self.slots.drain(..).filter(|slot| Arc::strong_count(slot) > 1).map(|slot| Arc::downgrade(&slot)));
    }

    /// Calls `each` with every buffer of this size.
    pub fn each(&self, mut each: impl FnMut(&T)) {
        self.slots.iter().for_each(|slot| each(slot));
    }

    /// Sums `bytes` over all buffers, with those that only submissions still have.
    pub fn bytes(&self, bytes: impl Fn(&T) -> u64) -> u64 {
        let old = self.old.iter().filter_map(Weak::upgrade);
        self.slots.iter().cloned().chain(old).map(|item| bytes(&item)).sum()
    }

    /// Sums `bytes` over the buffers that submissions have.
    pub fn leased_bytes(&self, bytes: impl Fn(&T) -> u64) -> u64 {
        let old = self.old.iter().filter_map(Weak::upgrade);
        let leased = self.slots.iter().filter(|slot| Arc::strong_count(slot) > 1).cloned();
        leased.chain(old).map(|item| bytes(&item)).sum()
    }
}
