//! Pairs from several threads, in one order whatever their number.

use rayon::prelude::*;

use crate::cpu::call::reserve;
use crate::{Error, Pair};

/// The number of lists per thread that are filled before they are appended: enough that no thread waits long for the
/// last.
const PER_THREAD: usize = 8;

/// Holds one list of pairs for each task of a wave: the lists are filled at the same time and appended in order.
#[derive(Debug, Default)]
pub struct TaskLists(Vec<Vec<Pair>>);

impl TaskLists {
    /// Appends to `pairs` what `fill` finds for each of `tasks`, in their order.
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
                // A list knows nothing of the lists before it.
                fill(task, list).map_err(|error| match error {
                    Error::ListTooLong { pair_count, .. } => Error::list_too_long(before + pair_count),
                    other => other,
                })
            };
            if count == 1 {
                // No other thread is woken for a single task.
                fill((&mut self.0[0], &current[0]))?;
            } else {
                self.0[..count].par_iter_mut().zip(&current[..count]).with_max_len(1).try_for_each(fill)?;
            }
            reserve(pairs, self.0[..count].iter().map(|list| list.len() as u64).sum())?;
            self.0[..count].iter().for_each(|list| pairs.extend_from_slice(list));
        }
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|list| list.capacity() * size_of::<Pair>()).sum()
    }
}
