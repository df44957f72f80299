//! The boxes of a search, for the stages of grid and pairs.

use crate::base::layout::Params;
use crate::filters::lists::FilterLists;
use crate::gpu::buffers::Buffer;
use crate::gpu::table::Bound;

/// The buffers of the boxes of a search, prepared if margins or half-spaces change them.
#[derive(Clone, Debug)]
pub struct BoxBuffers<'a> {
    /// The box count; an upper limit if the actual count is in a buffer.
    pub box_count: u32,
    /// Sizes of indirect dispatches with one workgroup per block of boxes, if the box count is in a buffer.
    pub block_sizes: Option<&'a Buffer<[u32; 3]>>,
    /// The parameters of the search, including the box count.
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
