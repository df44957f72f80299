//! A longer list of pairs in a workspace, with everything else as it is.

use super::slots::{BoxSlot, Staging, box_bytes, staging_bytes};
use super::{MemoryPlan, Workspace};
use crate::filters::device::FilterSet;
use crate::pairs::list::{ListCapacity, PairList};
use crate::{Error, Options};

impl Workspace {
    /// Makes room for `requested` pairs, or as many as there may be; everything else stays as it is. Returns whether the
    /// list is another one now.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: the list is as short as before, or where there is no memory even for that, all buffers
    /// are gone.
    pub fn lengthen_list(&mut self, requested: u64, options: &Options, filters: &FilterSet) -> Result<bool, Error> {
        let now = &self.shared()?.plan;
        if requested <= u64::from(now.pair_capacity) {
            return Ok(false);
        }
        // Staging buffers that no submission has are replaced along with the list.
        let boxes = self.boxes.bytes(box_bytes) - BoxSlot::bytes(&now.box_count.into());
        let others = boxes + self.stagings.leased_bytes(staging_bytes) + filters.coming_bytes(now.box_count as usize);
        let plan = now.with_longer_list(requested, others, options, &self.limits);
        if plan.pair_capacity == now.pair_capacity {
            return Ok(false);
        }
        self.replace_list(plan, options).map(|()| true)
    }

    /// Replaces the list by the longer one of `plan`. What else was found stays.
    fn replace_list(&mut self, plan: MemoryPlan, options: &Options) -> Result<(), Error> {
        // If not even the old list can be had back, nothing is kept.
        let mut shared = self.shared.take().ok_or(Error::NothingSubmitted)?;
        // The old list goes first, or both together might exceed the budget.
        let boxes = shared.plan.box_count.into();
        shared.pairs.list = PairList::new(&self.gpu, &ListCapacity { boxes: 0, pairs: 1 }, options.order)?;
        shared.neighbours = None;
        if let Some(results) = &mut shared.results {
            results.has_list = false;
        }
        self.stagings.clear();
        let allocate = |pairs: u32| {
            let capacity = ListCapacity { boxes, pairs: pairs.into() };
            Ok((PairList::new(&self.gpu, &capacity, options.order)?, Staging::new(&self.gpu, pairs)?))
        };
        let allocated: Result<_, Error> = allocate(plan.pair_capacity);
        let result = allocated.as_ref().map(|_| ()).map_err(Clone::clone);
        let (list, staging) = match allocated {
            Ok(buffers) => {
                shared.plan = plan;
                buffers
            }
            Err(_) => allocate(shared.plan.pair_capacity)?,
        };
        shared.pairs.list = list;
        self.stagings.add(staging);
        self.shared = Some(shared);
        result
    }
}
