//! Replaces the list of pairs in a workspace by a longer list. Other buffers are retained.

use super::submission_buffers::{Staging, SubmissionBoxes, box_bytes, staging_bytes};
use super::{MemoryPlan, Workspace};
use crate::filters::device::FilterSet;
use crate::pairs::list::{ListCapacity, PairList};
use crate::{Error, Options};

impl Workspace {
    /// Ensures a list of `requested` pairs, or of the most pairs that limits and budget allow. Returns `true` if the
    /// list was replaced.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. Then the list has its old length. If there is no memory for the old length either, all
    /// buffers are released.
    pub fn lengthen_list(&mut self, requested: u64, options: &Options, filters: &FilterSet) -> Result<bool, Error> {
        let now = &self.shared()?.plan;
        if requested <= u64::from(now.pair_capacity) {
            return Ok(false);
        }
        // Staging buffers that are not leased are replaced along with the list.
        let boxes = self.boxes.bytes(box_bytes) - SubmissionBoxes::bytes(&now.box_count.into());
        let others = boxes + self.stagings.leased_bytes(staging_bytes) + filters.coming_bytes(now.box_count as usize);
        let plan = now.with_longer_list(requested, others, options, &self.limits);
        if plan.pair_capacity == now.pair_capacity {
            return Ok(false);
        }
        self.replace_list(plan, options).map(|()| true)
    }

    /// Replaces the list by the longer list of `plan`. Other results are retained.
    fn replace_list(&mut self, plan: MemoryPlan, options: &Options) -> Result<(), Error> {
        // All buffers are released if not even a list of the old length can be allocated.
        let mut shared = self.shared.take().ok_or(Error::NothingSubmitted)?;
        // Release the old list first, since both together may exceed the budget.
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
