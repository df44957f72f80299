//! Pairs from several threads, in an order that does not depend on the thread count.

use rayon::prelude::*;

use crate::base::reserve::reserve;
use crate::{Error, Pair};

/// Lists per thread that are filled before they are appended: enough that no thread waits long for the last list.
const PER_THREAD: usize = 8;

/// One list of pairs per task of a wave. The lists of a wave are filled at the same time, and appended in order.
#[derive(Debug, Default)]
pub struct TaskLists(Vec<Vec<Pair>>);

impl TaskLists {
    /// Appends to `pairs` the pairs that `fill` finds for each of `tasks`, in their order.
    pub fn fill<T: Copy + Default + Send + Sync>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        pairs: &mut Vec<Pair>,
        fill: impl Fn(&T, &mut Vec<Pair>) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        const MOST: usize = 256;
        let wave = (PER_THREAD * rayon::current_num_threads()).min(MOST);
        self.0.resize_with(self.0.len().max(wave), Vec::new);
        let mut tasks = tasks.into_iter();
        let mut current = [T::default(); MOST];
        loop {
            let mut count = 0;
            for (place, task) in current[..wave].iter_mut().zip(&mut tasks) {
                *place = task;
                count += 1;
            }
            if count == 0 {
                return Ok(());
            }
            let before = pairs.len() as u64;
            let fill = |(list, task): (&mut Vec<Pair>, &T)| {
                list.clear();
                // Add the pairs before this list to the count of its error.
                fill(task, list).map_err(|error| match error {
                    Error::ListTooLong { pair_count, .. } => Error::list_too_long(before + pair_count),
                    other => other,
                })
            };
            if count == 1 {
                // A single task wakes no other thread.
                fill((&mut self.0[0], &current[0]))?;
            } else {
                self.0[..count].par_iter_mut().zip(&current[..count]).with_max_len(1).try_for_each(fill)?;
            }
            reserve(pairs, self.0[..count].iter().map(|list| list.len() as u64).sum())?;
            self.0[..count].iter().for_each(|list| pairs.extend_from_slice(list));
        }
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|list| list.capacity() * size_of::<Pair>()).sum()
    }
}
