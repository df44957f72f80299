//! The decisions of a call on its search, made before its first command.

use super::MemoryPlan;
use crate::base::constants::{SOFTWARE_CANDIDATES, key_bits};
use crate::base::layout::Params;
use crate::filters::device::FilterSet;
use crate::filters::lists::SearchKind;
use crate::gpu::Gpu;
use crate::{Error, Options};

/// The decisions of a call. They must not depend on earlier calls, since they determine the order of the
/// pairs.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub box_count: u32,
    /// `true` if every box is tested against every other box, without a sweep.
    pub tests_all_pairs: bool,
    /// The largest box count for which all pairs are tested.
    pub all_pairs_up_to: u32,
    /// The kind of the input.
    pub kind: SearchKind,
    pub candidate_limit: u64,
    params: Params,
    /// The plan for these boxes, without requests of earlier calls.
    pub plan: MemoryPlan,
}

impl Call {
    /// Returns the decisions for `box_count` boxes or points. The filters must fit this count.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`].
    pub fn decide(
        box_count: usize,
        options: &Options,
        gpu: &Gpu,
        limits: &wgpu::Limits,
        filters: &FilterSet,
        kind: SearchKind,
    ) -> Result<Self, Error> {
        let plan = MemoryPlan::with_filters(box_count, options, limits, filters.rows(box_count))?;
        let candidate_limit = options.effective_candidate_limit();
        let candidate_limit =
            if gpu.is_software() { candidate_limit.min(SOFTWARE_CANDIDATES) } else { candidate_limit };
        let (cell_mode, cell_size) = options.cell_size.code();
        let params = Params {
            box_count: plan.box_count,
            entry_capacity: plan.entry_capacity,
            axis: options.axis.code(),
            cell_mode,
            cell_size,
            candidate_limit_low: candidate_limit as u32,
            candidate_limit_high: (candidate_limit >> 32) as u32,
            vertices_per_pair: options.vertices_per_pair,
            tile_capacity: 0,
            world_count: filters.checked().world_count(),
            include_count: filters.checked().include().len() as u32,
            is_beyond: 0,
            key_bits: key_bits(plan.box_count, filters.checked().world_count()),
        };
        Ok(Self {
            box_count: plan.box_count,
            tests_all_pairs: plan.all_pairs,
            kind,
            all_pairs_up_to: options.most_in_all_pairs(),
            candidate_limit,
            params,
            plan,
        })
    }

    /// Returns the parameters of kernels that work in the buffers of this plan.
    pub fn params(&self, plan: &MemoryPlan) -> Params {
        Params {
            // Do not use the larger capacity of an earlier scene, so that the same boxes give the same bytes.
            entry_capacity: self.params.entry_capacity.min(plan.entry_capacity),
            tile_capacity: plan.tile_capacity,
            ..self.params
        }
    }
}
