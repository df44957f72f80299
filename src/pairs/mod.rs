//! The pairs of boxes that overlap: the first consumer of the [grid](crate::grid). [`Pipeline`] has the flow of a
//! search.

pub mod emit;
pub mod events;
pub mod exclude;
pub mod giants;
mod handles;
pub mod list;
pub mod neighbours;
pub mod order;
mod pipeline;
pub mod rank;
pub mod recorded;
pub mod small;
pub mod sweep;

pub use handles::{GpuEvents, GpuIdentity, GpuPairs};
pub use pipeline::{Needs, Pipeline, SearchInput};

use crate::gpu::Gpu;
use crate::gpu::table::Row;
use crate::{Error, PairOrder};
use list::{ListCapacity, PairList};
use sweep::{Hits, Path, SearchCapacity};

/// The buffers between the stages of a search, and the resulting list.
#[derive(Debug)]
pub struct PairBuffers {
    /// The path of the sweep.
    pub path: Path,
    /// The results of the tests.
    pub hits: Hits,
    /// The list of pairs.
    pub list: PairList,
}

impl PairBuffers {
    /// Allocates the memory of a search, with a list of this capacity.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, capacity: &SearchCapacity, list: &ListCapacity, order: PairOrder) -> Result<Self, Error> {
        let (path, hits) = (Path::new(gpu, capacity)?, Hits::new(gpu, capacity)?);
        Ok(Self { path, hits, list: PairList::new(gpu, list, order)? })
    }

    /// Lists the buffers of a search, without the list, with their bytes for this capacity.
    pub fn rows(capacity: &SearchCapacity) -> impl Iterator<Item = Row> + use<> {
        Path::rows(capacity).chain(Hits::rows(capacity))
    }

    /// Lists the buffers with their allocated bytes.
    pub fn allocated(&self) -> impl Iterator<Item = Row> {
        self.path.allocated().chain(self.hits.allocated()).chain(self.list.allocated())
    }
}
