//! The memory of a batch of queries, cached for the next batch.

use super::query::{QueryBuffers, QueryCapacity};
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::readback::Readback;

/// Returns the size of a staging buffer for this many bytes.
pub(super) fn staging_bytes(bytes: u64) -> u64 {
    bytes.next_multiple_of(1 << 16)
}

/// The buffers of the last batch, and a staging buffer.
#[derive(Debug, Default)]
pub(super) struct QueryMemory {
    cached: Option<(QueryCapacity, QueryBuffers)>,
    staging: Option<wgpu::Buffer>,
}

impl QueryMemory {
    /// Counts the bytes of GPU memory.
    pub fn bytes(&self) -> u64 {
        let queries: u64 =
            self.cached.as_ref().map_or(0, |(_, buffers)| buffers.allocated().map(|(_, bytes)| bytes).sum());
        queries + self.staging.as_ref().map_or(0, wgpu::Buffer::size)
    }

    /// Returns the buffers of the last batch.
    pub fn buffers(&self) -> Option<&QueryBuffers> {
        self.cached.as_ref().map(|(_, buffers)| buffers)
    }

    /// Returns a buffer that the host can read, of at least this many bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn staging(&mut self, gpu: &Gpu, bytes: u64) -> Result<wgpu::Buffer, Error> {
        if let Some(staging) = self.staging.take_if(|staging| staging.size() < bytes) {
            staging.destroy();
        }
        match &self.staging {
            Some(staging) => Ok(staging.clone()),
            None => {
                let staging = Readback::staging(gpu, "staging", staging_bytes(bytes))?;
                Ok(self.staging.insert(staging).clone())
            }
        }
    }

    /// Returns buffers of at least this capacity, and the capacity to use. If memory is exhausted, the returned
    /// capacity has no memory for short lists.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn ensure_capacity(
        &mut self,
        gpu: &Gpu,
        needed: QueryCapacity,
    ) -> Result<(QueryCapacity, QueryBuffers), Error> {
        match self.allocate(gpu, needed) {
            Err(Error::OutOfMemory { .. }) if needed.short > 0 => {
                let needed = QueryCapacity { short: 0, ..needed };
                Ok((needed, self.allocate(gpu, needed)?))
            }
            buffers => Ok((needed, buffers?)),
        }
    }

    fn allocate(&mut self, gpu: &Gpu, needed: QueryCapacity) -> Result<QueryBuffers, Error> {
        let had = self.cached.as_ref().map_or(QueryCapacity::default(), |(capacity, _)| *capacity);
        let all = had.max(&needed);
        if let Some((_, buffers)) = self.cached.as_ref().filter(|_| all == had) {
            return Ok(buffers.clone());
        }
        // Release the old buffers first, since old and new together may exceed the memory. The capacity of earlier
        // batches is optional.
        self.cached = None;
        let (capacity, buffers) = match QueryBuffers::new(gpu, &all) {
            Err(Error::OutOfMemory { .. }) => (needed, QueryBuffers::new(gpu, &needed)?),
            buffers => (all, buffers?),
        };
        self.cached = Some((capacity, buffers.clone()));
        Ok(buffers)
    }

    /// Replaces the list of answers in `buffers` by a longer list, unless it has this capacity. The other buffers
    /// retain their content.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn ensure_answers(&mut self, gpu: &Gpu, buffers: &mut QueryBuffers, answers: u64) -> Result<(), Error> {
        if buffers.pairs.len() < answers {
            *buffers = buffers.with_answer_capacity(gpu, answers)?;
            if let Some((capacity, cached)) = &mut self.cached {
                capacity.pairs = answers;
                *cached = buffers.clone();
            }
        }
        Ok(())
    }
}
