//! Runs batches from host memory: uploads them in parts, runs each phase until no query is pending, and reads answers
//! back.
//!
//! A part is as large as the limits of the device allow. The first answers of a query lie in a row of fixed length. If
//! all answers are requested, kernels first count the lists of a part. Then the host reads the lists in windows, sorted
//! by query and box.

use bytemuck::Pod;
use rayon::prelude::*;

use super::batch::{BatchPlan, DeviceBatch, External, Phase, Wanted};
use super::pack::{self, Packed};
use super::query::{Query, QueryCapacity, QueryInput, RoundParams, filter_u32_count};
use super::submission::{Recording, wait};
use super::{AsyncTree, Tree, build};
use crate::base::constants::{AGAIN, CURVE_SIDE, INVALID_QUERY, QUERY_RESUMED, RETAINED_ANSWERS};
use crate::base::layout::Window;
use crate::gpu::buffers::Buffer;
use crate::gpu::host_copy::extend;
use crate::gpu::kernel::Pass;
use crate::gpu::limits::largest_binding;
use crate::gpu::readback::Readback;
use crate::queries::reserve;
use crate::{Aabb, Error, Pair, QueryFilters};

/// The most queries of one submission.
const MOST_QUERIES: usize = 1 << 22;
/// The most lists of one submission whose first answers are retained: 128 MiB of answers.
const MOST_RETAINED: usize = 1 << 20;
/// The most answers of one window, and of all rows of one submission: 64 MiB.
const MOST_ANSWERS: u64 = 1 << 23;
/// The least capacity for answers.
const LEAST_ANSWERS: u64 = 1 << 12;
/// Queries that a thread processes at a time.
pub(super) const AT_ONCE: usize = 1 << 10;

impl Tree {
    /// Returns the approximate bounds of the boxes.
    pub(super) fn scene(&self) -> Aabb {
        let unit = 64.0;
        self.built.as_ref().map_or(Aabb::new([0.0; 3], [0.0; 3]), |built| {
            let side = if built.cube.scale > 0.0 { CURVE_SIDE as f32 / built.cube.scale } else { 0.0 };
            Aabb::new(built.cube.low.map(|x| x * unit), built.cube.low.map(|x| (x + side) * unit))
        })
    }

    /// Returns the largest u32 count of one buffer of queries.
    pub(super) fn most_u32_count(&self) -> usize {
        (largest_binding(&self.gpu.device().limits()) / 4).min(1 << 30) as usize
    }

    /// Returns the most lists whose first answers can be retained.
    pub(super) fn most_retained(&self) -> usize {
        MOST_RETAINED.min(self.most_u32_count() / RETAINED_ANSWERS as usize)
    }

    /// Returns the most queries of one submission, for queries of `stride` u32 and `answers` answers per row.
    pub(super) fn most_queries(&self, stride: usize, answers: usize) -> usize {
        let most_u32s = self.most_u32_count();
        let of_rows = MOST_ANSWERS as usize / answers.max(1);
        MOST_QUERIES
            .min(most_u32s / stride.max(filter_u32_count(true, true) as usize))
            .min(of_rows.max(1))
            .min(most_u32s / answers.max(1).saturating_mul(2))
            .max(1)
    }

    /// Returns the most queries of one submission, for lists of queries of `stride` u32.
    pub(super) fn most_lists(&self, stride: usize) -> usize {
        self.most_queries(stride, 1).min(self.most_retained())
    }

    /// Returns the capacity of a window for this many answers.
    pub(super) fn most_answers(&self, answers: u64) -> u64 {
        answers.clamp(LEAST_ANSWERS, MOST_ANSWERS.min(self.most_u32_count() as u64 / 2))
    }

    /// Uploads a part of a batch, from query `first` on, and submits its start.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub(super) fn begin_part(
        &mut self,
        wanted: Wanted,
        packed: &Packed<'_>,
        filters: &QueryFilters,
        first: usize,
        is_in_order: bool,
    ) -> Result<DeviceBatch<'static>, Error> {
        let (has_filters, has_spheres) = (filters.has_lists(), !filters.sphere.is_empty() && self.has_spheres());
        let plan = BatchPlan {
            wanted,
            query_count: packed.count as u32,
            stride: packed.stride,
            half_space_first: packed.parts,
            half_space_count: (packed.words.len() as u32 - packed.parts) / 4,
            has_filters,
            has_groups: !filters.passes_all(),
            has_spheres,
            skips_separating: filters.skips_separating,
            is_in_order,
            round_count: 0,
            vertices_per_pair: 0,
        };
        let needed = QueryCapacity {
            u32_count: packed.words.len() as u64,
            query_filters: packed.count as u64 * filter_u32_count(has_filters, has_spheres),
            ..wanted.capacity(packed.count as u64)
        };
        let (capacity, buffers) = self.memory.ensure_capacity(&self.gpu, needed)?;
        let mut batch = self.begin_batch(plan, capacity, buffers, External::default())?;
        let scopes = self.gpu.open_scopes();
        batch.buffers.queries.write(&self.gpu, &packed.words);
        if has_filters {
            let words = pack::query_filters(filters, first, packed.count, &self.worlds);
            batch.buffers.query_filters.write(&self.gpu, &words);
            if has_spheres {
                let spheres = bytemuck::cast_slice(&filters.sphere[first..first + packed.count]);
                batch.buffers.query_filters.write_at(&self.gpu, batch.params.spheres.into(), spheres);
            }
        }
        batch.buffers.query_counts.write(&self.gpu, &[build::sort_counts(plan.query_count)]);
        scopes.close("queries")?;
        let params = batch.round_params(&self.gpu, &mut self.params, Phase::Find, 0, None)?;
        let window = self.no_window()?;
        let mut recording = Recording::begin(&self.gpu);
        batch.buffers.record_clear(&mut recording.encoder);
        let mut pass = Pass::begin(&self.gpu, &mut recording.encoder);
        batch.record_start(&mut pass, &self.query, &self.filters.lists, &params, &window);
        pass.finish()?;
        drop(pass);
        recording.submit(&self.gpu)?;
        Ok(batch)
    }

    /// Returns an empty window, for kernels that write no list.
    fn no_window(&mut self) -> Result<Buffer<Window>, Error> {
        self.windows.get(&self.gpu, Window::new(0, 0))
    }

    /// Uploads the list of pending queries, and returns the count of pending queries; `None` if there are none.
    fn upload_pending(&self, batch: &DeviceBatch, states: &[[u32; 4]]) -> Result<Option<u32>, Error> {
        let is_pending = |place: u32| place < INVALID_QUERY || place == AGAIN;
        let numbers = (0..batch.plan.query_count).into_par_iter().with_min_len(AT_ONCE);
        let pending: Vec<u32> = numbers.filter(|&i| is_pending(states[i as usize][2])).collect();
        if pending.is_empty() {
            return Ok(None);
        }
        let scopes = self.gpu.open_scopes();
        batch.buffers.rest.write(&self.gpu, &pending);
        scopes.close("queries")?;
        Ok(Some(pending.len() as u32))
    }

    /// Submits the dispatches that `record` records, and begins to read back copies of some buffers, one after the
    /// other.
    fn submit_batch(
        &mut self,
        batch: &DeviceBatch<'_>,
        params: &RoundParams,
        window: &Buffer<Window>,
        copies: &[Copied<'_>],
        record: impl FnOnce(&mut Pass, &Query, &QueryInput<'_>) -> Result<(), Error>,
    ) -> Result<Readback, Error> {
        let Tree { gpu, memory, query, filters, .. } = self;
        let bytes = copies.iter().map(|(_, bytes)| bytes).sum();
        let staging = memory.staging(gpu, bytes)?;
        let pending = (params.host.flags & QUERY_RESUMED != 0).then_some(&batch.buffers.rest);
        let mut recording = Recording::begin(gpu);
        batch.buffers.record_clear(&mut recording.encoder);
        let mut pass = Pass::begin(gpu, &mut recording.encoder);
        record(&mut pass, query, &batch.input(&filters.lists, params, window, pending))?;
        pass.finish()?;
        drop(pass);
        let mut to = 0;
        for &(buffer, bytes) in copies {
            recording.encoder.copy_buffer_to_buffer(buffer, 0, &staging, to, bytes);
            to += bytes;
        }
        recording.read(gpu, &staging, bytes)
    }
}

/// A buffer to read back, and its byte count.
type Copied<'a> = (&'a wgpu::Buffer, u64);

impl AsyncTree<'_> {
    /// Runs rounds of a phase until no query is pending. Returns the copies of the last round. The first copy is the
    /// state of each query.
    async fn run_phase(
        &mut self,
        batch: &DeviceBatch<'_>,
        phase: Phase,
        window: &Buffer<Window>,
        copies: &[Copied<'_>],
    ) -> Result<Readback, Error> {
        let mut pending = None;
        loop {
            let params = batch.round_params(&self.tree.gpu, &mut self.tree.params, phase, 0, pending)?;
            let submitted = self.tree.submit_batch(batch, &params, window, copies, |pass, query, input| {
                batch.record_round(pass, query, input);
                // Read the results with the states, since most queries end in one dispatch.
                if matches!(batch.plan.wanted, Wanted::Rows(..)) {
                    batch.record_finish(pass, query, input, false)?;
                }
                Ok(())
            });
            let readback = self.wait(submitted).await?;
            let count = batch.plan.query_count as usize;
            pending = readback.read(0, count, |states: &[[u32; 4]]| self.tree.upload_pending(batch, states))??;
            if pending.is_none() {
                return Ok(readback);
            }
        }
    }

    /// Waits for a submission.
    async fn wait(&self, submitted: Result<Readback, Error>) -> Result<Readback, Error> {
        wait(&self.tree.gpu, submitted?, self.waiting).await
    }

    /// Ranks a part, and passes its rows, one per query, to `each`. After the last answer, a row has entries without a
    /// box.
    pub(super) async fn read_rows<T: Pod>(
        &mut self,
        batch: &DeviceBatch<'_>,
        phase: Phase,
        width: usize,
        each: impl FnOnce(&[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let count = batch.plan.query_count as usize;
        let window = self.tree.no_window()?;
        let states = (batch.buffers.states.raw(), count as u64 * 16);
        let rows = (batch.buffers.answers.raw(), (count * width) as u64 * 8);
        let readback = self.run_phase(batch, phase, &window, &[states, rows]).await?;
        readback.read(states.1, count * width, each)?
    }

    /// Counts the answers to each query of a part.
    pub(super) async fn read_counts(&mut self, batch: &DeviceBatch<'_>) -> Result<Vec<u64>, Error> {
        let count = batch.plan.query_count as usize;
        let window = self.tree.no_window()?;
        let states = (batch.buffers.offsets.raw(), count as u64 * 16);
        self.run_phase(batch, Phase::Find, &window, &[states]).await?.read(0, count, counts_of)?
    }

    /// Counts the answers to each query of a part. Returns the begin of each list, and the end of the last list.
    pub(super) async fn read_offsets(&mut self, batch: &DeviceBatch<'_>) -> Result<Vec<u64>, Error> {
        let lists = batch.plan.query_count as usize + 1;
        let window = self.tree.no_window()?;
        let offsets = batch.buffers.offsets.raw();
        // Drop the readback, since its staging buffer must be unmapped before the next copy.
        drop(self.run_phase(batch, Phase::Find, &window, &[(offsets, (lists as u64 - 1) * 16)]).await?);
        let params = batch.round_params(&self.tree.gpu, &mut self.tree.params, Phase::Find, 0, None)?;
        let copies = [(offsets, lists as u64 * 16)];
        let submitted = self.tree.submit_batch(batch, &params, &window, &copies, |pass, query, input| {
            query.record_offsets(pass, input);
            Ok(())
        });
        self.wait(submitted).await?.read(0, lists, counts_of)?
    }

    /// Reads all lists of a part: pairs of query and box, or for casts of box and time. Appends the result of `answer`
    /// for each pair to `out`. `key` returns the box of a pair.
    pub(super) async fn read_lists<T: Copy + Send>(
        &mut self,
        batch: &mut DeviceBatch<'_>,
        offsets: &[u64],
        out: &mut Vec<T>,
        answer: impl Fn(&Pair) -> T + Sync,
        key: impl Fn(&T) -> u32,
    ) -> Result<(), Error> {
        let (base, total) = (out.len(), offsets.last().copied().unwrap_or(0));
        reserve(out, usize::try_from(total).unwrap_or(usize::MAX))?;
        let capacity = self.tree.most_answers(total);
        self.tree.memory.ensure_answers(&self.tree.gpu, &mut batch.buffers, capacity)?;
        let mut first = 0;
        while first < total {
            let length = (total - first).min(capacity);
            let readback = self.read_window(batch, offsets, first, length).await?;
            readback.read(0, length as usize, |pairs: &[Pair]| extend(out, pairs, &answer))?;
            // A list that lies in two windows is sorted separately in each window. Sort it again as a whole.
            let cut = offsets.partition_point(|&offset| offset <= first).saturating_sub(1);
            if first > 0 && offsets[cut] < first {
                let end = offsets[cut + 1].min(first + length);
                out[base + offsets[cut] as usize..base + end as usize].sort_unstable_by_key(&key);
            }
            first += length;
        }
        Ok(())
    }

    /// Writes the `length` answers from index `first` on, and reads them back.
    async fn read_window(
        &mut self,
        batch: &DeviceBatch<'_>,
        offsets: &[u64],
        first: u64,
        length: u64,
    ) -> Result<Readback, Error> {
        let gpu = self.tree.gpu.clone();
        let window = Window::new(first, length as u32);
        let window = self.tree.windows.get(&gpu, window)?;
        let scopes = gpu.open_scopes();
        batch.buffers.answer_counts.write(&gpu, &[build::sort_counts(length as u32)]);
        scopes.close("queries")?;
        let is_here = |list: &[u64]| list[0] < first + length && list[1] > first;
        let retained = u64::from(batch.retained_count());
        let is_long = |list: &[u64]| list[1] - list[0] > retained;
        let has_long = offsets.par_windows(2).with_min_len(AT_ONCE).any(|list| is_here(list) && is_long(list));
        if has_long {
            let states = (batch.buffers.offsets.raw(), u64::from(batch.plan.query_count) * 16);
            drop(self.run_phase(batch, Phase::Emit, &window, &[states]).await?);
        }
        let params = batch.round_params(&gpu, &mut self.tree.params, Phase::Find, 0, None)?;
        let copies = [(batch.buffers.pairs.raw(), length * size_of::<Pair>() as u64)];
        let submitted = self.tree.submit_batch(batch, &params, &window, &copies, |pass, query, input| {
            batch.record_finish(pass, query, input, has_long)
        });
        self.wait(submitted).await
    }
}

/// Reads the 64-bit counts or offsets in the states of lists.
fn counts_of(states: &[[u32; 4]]) -> Result<Vec<u64>, Error> {
    let mut counts = Vec::new();
    reserve(&mut counts, states.len())?;
    extend(&mut counts, states, |words| u64::from(words[1]) << 32 | u64::from(words[0]));
    Ok(counts)
}
