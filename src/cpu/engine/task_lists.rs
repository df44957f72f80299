//! Pairs from several threads, in an order that does not depend on the thread count.

use rayon::prelude::*;

use crate::base::reserve::reserve;
use crate::{Error, Pair};

/// Lists per thread that are filled before they are appended: enough that no thread waits long for the last list.
const PER_THREAD: usize = 8;

/// Holds one list of pairs for each task of two waves. One thread appends the lists of a wave in order while other
/// threads fill the lists of the next.
#[derive(Debug, Default)]
pub struct TaskLists {
    current: Vec<Vec<Pair>>,
    last: Vec<Vec<Pair>>,
}

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
        let (mut current, mut last) = (&mut self.current, &mut self.last);
        for lists in [&mut *current, &mut *last] {
            lists.resize_with(lists.len().max(wave), Vec::new);
        }
        let mut tasks = tasks.into_iter().fuse();
        let mut wave_tasks = [T::default(); MOST];
        let mut filled = 0;
        loop {
            let mut count = 0;
            for (place, task) in wave_tasks[..wave].iter_mut().zip(&mut tasks) {
                *place = task;
                count += 1;
            }
            let filled_len = last[..filled].iter().map(|list| list.len() as u64).sum();
            let before = pairs.len() as u64 + filled_len;
            let mut append = || {
                reserve(pairs, filled_len)?;
                last[..filled].iter().for_each(|list| pairs.extend_from_slice(list));
                Ok(())
            };
            let fill = |(list, task): (&mut Vec<Pair>, &T)| {
                list.clear();
                // The pair count in an error includes the pairs of earlier lists.
                fill(task, list).map_err(|error| match error {
                    Error::ListTooLong { pair_count, .. } => Error::list_too_long(before + pair_count),
                    other => other,
                })
            };
            match (filled, count) {
                (_, 0) => return append(),
                // A single task wakes no other thread.
                (0, 1) => fill((&mut current[0], &wave_tasks[0]))?,
                _ => {
                    let lists = current[..count].par_iter_mut().zip(&wave_tasks[..count]).with_max_len(1);
                    let (appended, filled) = rayon::join(append, || lists.try_for_each(fill));
                    appended.and(filled)?;
                }
            }
            std::mem::swap(&mut current, &mut last);
            filled = count;
        }
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.current.iter().chain(&self.last).map(|list| list.capacity() * size_of::<Pair>()).sum()
    }
}
