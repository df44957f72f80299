//! Records searches. [`submit`](super::submit) submits them.

use super::flight::Flight;
use crate::base::layout::Params;
use crate::filters::device::FilterSet;
use crate::filters::lists::SearchKind;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::Pass;
use crate::gpu::table::{CONSTANT, SIZES, STORAGE};
use crate::gpu::timing::Timer;
use crate::memory::{Call, Results, Workspace};
use crate::pairs::{Pipeline, SearchInput};
use crate::{Error, Options};

/// All parts of a broad phase except the filters, since each slab has its own filters.
#[derive(Debug)]
pub(crate) struct Core {
    pub gpu: Gpu,
    pub options: Options,
    pub pipeline: Pipeline,
    pub workspace: Workspace,
    pub(super) flight: Flight,
    /// The buffers of searches with a box count in a buffer.
    pub counted: Option<Counted>,
}

/// The buffers of a search with a box count in a buffer. Each recording writes them before it reads them.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    params: Buffer<Params>,
    /// The sizes of dispatches for blocks of boxes.
    block_sizes: Buffer<[u32; 3]>,
    /// A zero. It is bound as the flag of refused filters if the filters have no list that the device can refuse.
    none_refused: Buffer<u32>,
}

impl Core {
    /// Returns the decision for a call with this many boxes or points.
    pub fn decide(&self, box_count: usize, filters: &FilterSet, kind: SearchKind) -> Result<Call, Error> {
        Call::decide(box_count, &self.options, &self.gpu, self.workspace.limits(), filters, kind)
    }

    pub fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("broadsweep") })
    }

    pub fn params(&self, call: &Call) -> Result<Buffer<Params>, Error> {
        self.pipeline.params(call.params(&self.workspace.shared()?.plan))
    }

    /// Returns the parameters of the search whose results are in the buffers.
    pub fn params_of_results(&self, call: &Call) -> Result<Buffer<Params>, Error> {
        let results = self.workspace.shared()?.results.as_ref();
        results.and_then(|results| results.params.clone()).map_or_else(|| self.params(call), Ok)
    }

    /// Records the search of this call, and marks the buffers as its results. `submission` is the number of the
    /// submission; `None` means a recording.
    pub fn record_flow(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BindingResource<'_>,
        filters: &FilterSet,
        submission: Option<u64>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let params = &self.params(call)?;
        let search = self.search(call, params, None, boxes, filters)?;
        self.record_with(encoder, call, &search, submission, timer)
    }

    /// Returns the input of the search of this call.
    fn search<'a>(
        &self,
        call: &Call,
        params: &'a Buffer<Params>,
        block_sizes: Option<&'a Buffer<[u32; 3]>>,
        boxes: wgpu::BindingResource<'a>,
        filters: &'a FilterSet,
    ) -> Result<SearchInput<'a>, Error> {
        let Call { box_count, tests_all_pairs, kind, .. } = *call;
        let Params { entry_capacity, key_bits, .. } = call.params(&self.workspace.shared()?.plan);
        Ok(SearchInput {
            box_count,
            block_sizes,
            entry_capacity,
            key_bits,
            tests_all_pairs,
            kind,
            params,
            boxes,
            filters,
        })
    }

    /// Returns the buffers of a search with a box count in a buffer.
    fn counted(&mut self) -> Result<Counted, Error> {
        if let Some(counted) = &self.counted {
            return Ok(counted.clone());
        }
        let params = Buffer::new(&self.gpu, "params", 1, CONSTANT)?;
        let block_sizes = Buffer::new(&self.gpu, "block_sizes", 1, SIZES)?;
        let none_refused = Buffer::of(&self.gpu, "none_refused", &[0], STORAGE)?;
        Ok(self.counted.insert(Counted { params, block_sizes, none_refused }).clone())
    }

    /// Records the search of this call, with the box count at the start of `count`. If this count exceeds the box count
    /// of the call, or if the device refused filters, the search has no boxes. Without `count`, the box count of the
    /// call applies.
    pub fn record_counted(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        count: Option<wgpu::BindingResource<'_>>,
        boxes: wgpu::BindingResource<'_>,
        filters: &FilterSet,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let call_params = self.params(call)?;
        let Counted { params, block_sizes, none_refused } = self.counted()?;
        let refused = filters.refused().unwrap_or(&none_refused);
        self.pipeline.record_count(encoder, &call_params, count, refused, &params, &block_sizes)?;
        let search = self.search(call, &params, Some(&block_sizes), boxes, filters)?;
        self.record_with(encoder, call, &search, None, timer)?;
        if let Some(results) = &mut self.workspace.shared_mut()?.results {
            results.params = Some(params);
        }
        Ok(())
    }

    fn record_with(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        search: &SearchInput<'_>,
        submission: Option<u64>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        search.filters.check_uploaded(call.box_count as usize)?;
        let shared = self.workspace.shared_mut()?;
        shared.results = None;
        let build = self.pipeline.record_flow(encoder, search, &mut shared.grid, &shared.pairs, timer)?;
        shared.results =
            Some(Results { call: call.clone(), submission, build, has_list: true, has_windows: true, params: None });
        Ok(())
    }

    /// Records the commands that write the pairs from index `first` on. The results in the buffers must belong to this
    /// call.
    pub fn record_window(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BindingResource<'_>,
        filters: &FilterSet,
        first: u64,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        filters.check_uploaded(call.box_count as usize)?;
        let shared = self.workspace.shared()?;
        shared.pairs.list.record_clear(encoder);
        let params = &self.params_of_results(call)?;
        let search = self.search(call, params, None, boxes, filters)?;
        let mut pass = Pass::begin_timed(&self.gpu, encoder, timer);
        self.pipeline.record_window(&mut pass, &search, &shared.grid, &shared.pairs, first)?;
        pass.finish()
    }

    /// Ensures the buffers for this call and the requested capacity. Nothing may be in flight.
    pub fn ensure(&mut self, call: &Call, filters: &mut FilterSet) -> Result<(), Error> {
        self.workspace.ensure(call, &self.options, filters, false)
    }
}
