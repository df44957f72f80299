//! A longer list of pairs in a workspace, with everything else as it is.

use super::slots::{BoxSlot, Staging, box_bytes, staging_bytes};
use super::{MemoryPlan, Workspace};
use crate::filters::device::FilterSet;
use crate::pairs::list::{ListRoom, PairList};
use crate::{Error, Options};

impl Workspace {
    /// Makes room for `wish` pairs, or as many as there may be; everything else stays as it is. Returns whether the
    /// list is another one now.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: the list is as short as before, or where there is no memory even for that, all buffers
    /// are gone.
    pub fn lengthen_list(&mut self, wish: u64, options: &Options, filters: &FilterSet) -> Result<bool, Error> {
        let now = &self.made()?.plan;
        if wish <= u64::from(now.pair_capacity) {
            return Ok(false);
        }
        // Staging buffers that no submission has are replaced along with the list.
        let boxes = self.boxes.bytes(box_bytes) - BoxSlot::bytes(&now.box_count.into());
        let others = boxes + self.stagings.lent_bytes(staging_bytes) + filters.coming_bytes(now.box_count as usize);
        let plan = now.with_longer_list(wish, others, options, &self.limits);
        if plan.pair_capacity == now.pair_capacity {
            return Ok(false);
        }
        self.replace_list(plan, options).map(|()| true)
    }

    /// Replaces the list by the longer one of `plan`. What else was found stays.
    fn replace_list(&mut self, plan: MemoryPlan, options: &Options) -> Result<(), Error> {
        // If not even the old list can be had back, nothing is kept.
        let mut made = self.made.take().ok_or(Error::NothingSubmitted)?;
        // The old list goes first, or both together might exceed the budget.
        let boxes = made.plan.box_count.into();
        made.pairs.list = PairList::new(&self.gpu, &ListRoom { boxes: 0, pairs: 1 }, options.order)?;
        made.neighbours = None;
        if let Some(results) = &mut made.results {
            results.has_list = false;
        }
        self.stagings.clear();
        let make = |capacity: u32| {
            let room = ListRoom { boxes, pairs: capacity.into() };
            Ok((PairList::new(&self.gpu, &room, options.order)?, Staging::new(&self.gpu, capacity)?))
        };
        let wanted: Result<_, Error> = make(plan.pair_capacity);
        let result = wanted.as_ref().map(|_| ()).map_err(Clone::clone);
        let (list, staging) = match wanted {
            Ok(wanted) => {
                made.plan = plan;
                wanted
            }
            Err(_) => make(made.plan.pair_capacity)?,
        };
        made.pairs.list = list;
        self.stagings.add(staging);
        self.made = Some(made);
        result
    }
}
