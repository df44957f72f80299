//! The boxes of a search, for the stages of grid and pairs.

use crate::base::layout::Params;
use crate::filters::lists::FilterLists;
use crate::gpu::buffers::Buffer;
use crate::gpu::table::Bound;

/// The buffers of the boxes of a search, prepared if margins or half-spaces change them.
#[derive(Clone, Debug)]
pub struct BoxBuffers<'a> {
    /// The number of boxes; if it is in a buffer, the capacity.
    pub box_count: u32,
    /// If the number is in a buffer: the sizes of indirect dispatches with a workgroup for each block of boxes.
    pub block_sizes: Option<&'a Buffer<[u32; 3]>>,
    /// The parameters of the search, with the number of boxes.
    pub params: &'a Buffer<Params>,
    /// `[box_count]` boxes.
    pub boxes: wgpu::BindingResource<'a>,
    /// The filters that the exact tests read.
    pub filters: &'a FilterLists,
}

impl BoxBuffers<'_> {
    /// Lists the buffers for kernels.
    pub fn bound(&self) -> Bound<'_> {
        [vec![("params", self.params.all()), ("boxes", self.boxes.clone())], self.filters.bound()].concat()
    }
}
