//! A batch of queries on its way: which part of it a submission takes, and what comes back.
//!
//! The queries of a batch go to the device in parts that its limits have room for. The first answers of a query come in rows
//! of equal length. Lists are counted first; their answers come in windows of all lists of the part, sorted by query and
//! box.

use std::task::Poll;

use bytemuck::Pod;
use rayon::prelude::*;

use super::pack::{self, Packed};
use super::query::{BatchInput, Listed, Query, QueryBuffers, QueryRoom, Ranked, flags_of};
use super::{Built, Tree, Waiting, build};
use crate::constants::{
    AGAIN, CURVE_SIDE, INVALID_QUERY, KEPT_ANSWERS, QUERY_EMITS, QUERY_NEXT_ROW, QUERY_RESUMED, ROW,
};
use crate::filters::device::FilterSet;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::host_copy::extend;
use crate::gpu::kernel::Pass;
use crate::gpu::limits::largest_binding;
use crate::gpu::readback::Readback;
use crate::gpu::scopes::Scopes;
use crate::grid::sort::Sort;
use crate::grid::sort_variant;
use crate::layout::{QueryParams, Window};
use crate::queries::{Start, check_k, is_in_order, make_room};
use crate::{
    Aabb, Answers, Batch, Cast, Convex, Error, Hit, Lists, Near, NearestQuery, Pair, QueryFilters, QueryReport, Shape,
};

/// The least number of queries, and of boxes, that are worth a sort of the queries.
pub(super) const SORTED: usize = 1 << 10;
/// The most queries of one submission.
const MOST_QUERIES: usize = 1 << 22;
/// The most lists of one submission whose first answers are kept: 128 MiB of them.
const MOST_KEPT: usize = 1 << 20;
/// The most answers of one window, and those of all rows of one submission: 64 MiB.
const MOST_ANSWERS: u64 = 1 << 23;
/// The least room for answers.
const LEAST_ANSWERS: u64 = 1 << 12;
/// Turns of loops that a query may take in one dispatch, and dispatches that are recorded ahead to go on with it: drivers end dispatches
/// that take seconds.
const BUDGET: (u32, u32) = (1 << 18, 4);
/// The same in software. Mesa's drivers end all loops of some eight or sixteen invocations after 65,535 turns together, without a word. The
/// last node, and a row of 64 that is put in order, may take 800 turns more; where all is in doubt, the last node 1,700.
const BUDGET_IN_SOFTWARE: (u32, u32) = (2_000, 16);

/// Returns how many turns of loops a query may take in one dispatch on this device, and how many rounds are recorded beside the first.
pub(super) fn budget(gpu: &Gpu) -> (u32, u32) {
    let (turns, rounds) = if gpu.is_software() { BUDGET_IN_SOFTWARE } else { BUDGET };
    (gpu.turns().unwrap_or(turns), rounds)
}

/// Queries that a thread looks at, at a time.
const AT_ONCE: usize = 1 << 10;
/// Stands for no box.
const NO_BOX: u32 = QueryFilters::NO_BOX;

/// Returns how long a buffer is that so many bytes are read through.
pub(super) fn staging_bytes(bytes: u64) -> u64 {
    bytes.next_multiple_of(1 << 16)
}

/// The memory of the queries that were asked last, and a staging buffer.
#[derive(Debug, Default)]
pub struct Memory {
    made: Option<(QueryRoom, QueryBuffers)>,
    staging: Option<wgpu::Buffer>,
}

impl Memory {
    /// Counts the bytes held.
    pub fn bytes(&self) -> u64 {
        let queries: u64 = self.made.as_ref().map_or(0, |(_, buffers)| buffers.made().map(|(_, bytes)| bytes).sum());
        queries + self.staging.as_ref().map_or(0, wgpu::Buffer::size)
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

    /// Makes buffers with at least this much room, and returns what room they have of what was asked for: where memory is short,
    /// lists keep no answers.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn make_room(&mut self, gpu: &Gpu, room: QueryRoom) -> Result<(QueryRoom, QueryBuffers), Error> {
        match self.make_all(gpu, room) {
            Err(Error::OutOfMemory { .. }) if room.short > 0 => {
                let room = QueryRoom { short: 0, ..room };
                Ok((room, self.make_all(gpu, room)?))
            }
            buffers => Ok((room, buffers?)),
        }
    }

    fn make_all(&mut self, gpu: &Gpu, room: QueryRoom) -> Result<QueryBuffers, Error> {
        let had = self.made.as_ref().map_or(QueryRoom::default(), |(room, _)| *room);
        let most = |a: u64, b: u64| a.max(b);
        let all = QueryRoom {
            queries: most(had.queries, room.queries),
            words: most(had.words, room.words),
            askers: most(had.askers, room.askers),
            ranked: most(had.ranked, room.ranked),
            rows: most(had.rows, room.rows),
            lists: most(had.lists, room.lists),
            short: most(had.short, room.short),
            pairs: most(had.pairs, room.pairs),
            stays: most(had.stays, room.stays),
            rounds: most(had.rounds, room.rounds),
        };
        if all != had || self.made.is_none() {
            // The old buffers go first: old and new at once might not fit. What others needed is a wish, not a need.
            self.made = None;
            let (room, buffers) = match QueryBuffers::new(gpu, &all) {
                Err(Error::OutOfMemory { .. }) => (room, QueryBuffers::new(gpu, &room)?),
                buffers => (all, buffers?),
            };
            self.made = Some((room, buffers));
        }
        self.made.as_ref().map(|(_, buffers)| buffers.clone()).ok_or(Error::NothingSubmitted)
    }
}

/// Commands that are being recorded, with scopes for errors: without them `wgpu` ends the program where the device is gone.
pub(super) struct Recording {
    pub encoder: wgpu::CommandEncoder,
    scopes: Scopes,
}

impl Recording {
    /// Begins to record.
    pub fn begin(gpu: &Gpu) -> Self {
        let scopes = gpu.open_scopes();
        let label = Some("broadsweep");
        Self { encoder: gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label }), scopes }
    }

    /// Submits what was recorded.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::OutOfMemory`], [`Error::Gpu`].
    fn submit(self, gpu: &Gpu) -> Result<(), Error> {
        gpu.queue().submit([self.encoder.finish()]);
        self.scopes.close("queries")
    }

    /// Submits what was recorded, and begins to read the first `bytes` bytes of a staging buffer.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn read(self, gpu: &Gpu, staging: &wgpu::Buffer, bytes: u64) -> Result<Readback, Error> {
        gpu.queue().submit([self.encoder.finish()]);
        let mut readback = Readback::begin(gpu, staging, bytes.next_multiple_of(8));
        self.scopes.close_with("queries", &mut readback)?;
        Ok(readback)
    }
}

/// Waits until the bytes are there.
///
/// # Errors
/// [`Error::DeviceLost`], [`Error::OutOfMemory`], [`Error::Gpu`].
pub(super) async fn wait(gpu: &Gpu, readback: Readback, waiting: Waiting) -> Result<Readback, Error> {
    #[cfg(not(target_arch = "wasm32"))]
    if waiting == Waiting::Blocking {
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).map_err(|error| gpu.lost(&error.to_string()))?;
    }
    std::future::poll_fn(|context| {
        if waiting == Waiting::Polling {
            // Outside browsers a device makes progress only when it is polled.
            let _ = gpu.device().poll(wgpu::PollType::Poll);
        }
        match readback.poll(context) {
            Poll::Pending if gpu.is_lost() => Poll::Ready(Err(gpu.lost(""))),
            Poll::Pending => {
                #[cfg(not(target_arch = "wasm32"))]
                context.waker().wake_by_ref();
                Poll::Pending
            }
            ready => ready,
        }
    })
    .await?;
    Ok(readback)
}

/// A part of a batch on the device.
struct Part {
    built: Built,
    buffers: QueryBuffers,
    said: QueryParams,
    params: Buffer<QueryParams>,
    order: Buffer<u32>,
    count: u32,
}

impl Part {
    /// Says that the next dispatch begins with all queries, with one more flag or 0.
    fn begin(&mut self, tree: &Tree, flag: u32) -> Result<(), Error> {
        self.said.flags &= !(QUERY_RESUMED | QUERY_NEXT_ROW | QUERY_EMITS);
        self.said.flags |= flag;
        self.said.query_count = self.count;
        self.params = tree.params.get(&tree.gpu, self.said)?;
        Ok(())
    }

    /// Says that the next dispatch goes on with those queries that the last one has left; returns whether there are any.
    fn resume(&mut self, tree: &Tree, states: &[[u32; 4]]) -> Result<bool, Error> {
        let is_left = |place: u32| place < INVALID_QUERY || place == AGAIN;
        let rest: Vec<u32> =
            (0..self.count).into_par_iter().with_min_len(AT_ONCE).filter(|&i| is_left(states[i as usize][2])).collect();
        if rest.is_empty() {
            return Ok(false);
        }
        let scopes = tree.gpu.open_scopes();
        self.buffers.rest.write(&tree.gpu, &rest);
        scopes.close("queries")?;
        self.said.flags |= QUERY_RESUMED;
        self.said.query_count = rest.len() as u32;
        self.params = tree.params.get(&tree.gpu, self.said)?;
        Ok(true)
    }

    fn input<'a>(&'a self, tree: &'a build::TreeBuffers, filters: &'a FilterSet) -> BatchInput<'a> {
        BatchInput {
            shape: &self.built.shape,
            tree,
            filters: &filters.lists,
            said: self.said,
            params: &self.params,
            queries: self.buffers.queries.all(),
            askers: self.buffers.askers.all(),
            order: if self.said.flags & QUERY_RESUMED != 0 { &self.buffers.rest } else { &self.order },
        }
    }
}

/// Queries whose first answers are asked for.
struct Ranking<'a> {
    /// Their numbers, in bits.
    words: &'a [u32],
    query_count: usize,
    filters: &'a QueryFilters,
    is_in_order: bool,
    /// How many answers of each.
    k: usize,
    ranked: Ranked,
    waiting: Waiting,
}

impl Ranking<'_> {
    /// Returns how many words a query has.
    fn stride(&self) -> usize {
        self.words.len() / self.query_count
    }

    /// Returns how many answers a row has room for.
    fn width(&self) -> usize {
        self.k.min(ROW as usize)
    }
}

impl Tree {
    /// Returns about the bounds of the boxes.
    fn scene(&self) -> Aabb {
        let unit = 64.0;
        self.built.as_ref().map_or(Aabb::new([0.0; 3], [0.0; 3]), |built| {
            let side = if built.cube.scale > 0.0 { CURVE_SIDE as f32 / built.cube.scale } else { 0.0 };
            Aabb::new(built.cube.low.map(|x| x * unit), built.cube.low.map(|x| (x + side) * unit))
        })
    }

    /// Returns the most words that one buffer of queries may have.
    pub(super) fn most_words(&self) -> usize {
        (largest_binding(&self.gpu.device().limits()) / 4).min(1 << 30) as usize
    }

    /// Returns of how many lists the first answers are kept, as far as a binding has room.
    pub(super) fn most_kept(&self) -> usize {
        MOST_KEPT.min(self.most_words() / KEPT_ANSWERS as usize)
    }

    /// Returns how many queries one submission takes, of this many words and, in rows, answers.
    pub(super) fn most_queries(&self, stride: usize, answers: usize) -> usize {
        let words = self.most_words();
        let of_rows = MOST_ANSWERS as usize / answers.max(1);
        // A query that says all it may has five words more.
        MOST_QUERIES.min(words / stride.max(5)).min(of_rows.max(1)).min(words / answers.max(1).saturating_mul(2)).max(1)
    }

    /// Returns how many queries whose answers are listed one submission takes, of this many words.
    pub(super) fn most_lists(&self, stride: usize) -> usize {
        self.most_queries(stride, 1).min(self.most_kept())
    }

    /// Returns for how many answers a window has room, where there are this many.
    pub(super) fn most_answers(&self, answers: u64) -> u64 {
        answers.clamp(LEAST_ANSWERS, MOST_ANSWERS.min(self.most_words() as u64 / 2))
    }

    /// Uploads a part of a batch, and submits the order in which its queries are asked.
    #[allow(clippy::too_many_arguments)]
    fn begin_part(
        &mut self,
        packed: &Packed<'_>,
        filters: &QueryFilters,
        first: usize,
        is_in_order: bool,
        most: u32,
        room: QueryRoom,
    ) -> Result<Part, Error> {
        let built = self.built.clone().ok_or(Error::NothingSubmitted)?;
        let has_askers = filters.has_lists();
        let count = packed.count;
        let room = QueryRoom {
            queries: count as u64,
            words: packed.words.len() as u64,
            askers: if has_askers { count as u64 } else { 0 },
            ..room
        };
        let has_groups = !filters.keeps_all() || self.filters.filters().has_groups();
        let flags = flags_of(count as u32, most, has_askers, has_groups, filters.skips_start);
        let sort = Sort::with_variant(&self.gpu, sort_variant(&self.gpu)?)?;
        let (room, buffers) = self.memory.make_room(&self.gpu, room)?;
        self.filters.upload(&self.gpu, built.room.boxes as usize, false)?;
        let said = QueryParams {
            query_count: count as u32,
            words: packed.stride,
            most,
            parts: packed.parts,
            part_count: (packed.words.len() as u32 - packed.parts) / 4,
            budget: budget(&self.gpu).0,
            rule: self.filters.filters().rule.code(),
            flags,
            kept: room.kept(),
            ..bytemuck::Zeroable::zeroed()
        };
        let params = self.params.get(&self.gpu, said)?;
        let scopes = self.gpu.open_scopes();
        buffers.queries.write(&self.gpu, &packed.words);
        if has_askers {
            buffers.askers.write(&self.gpu, &pack::askers(filters, first, count, &self.worlds));
        }
        let is_sorted = count >= SORTED && built.room.boxes >= SORTED as u64 && !is_in_order;
        buffers.query_counts.write(&self.gpu, &[build::sort_counts(count as u32)]);
        scopes.close("queries")?;
        let Some((_, tree)) = &self.made else { return Err(Error::NothingSubmitted) };
        let mut recording = Recording::begin(&self.gpu);
        buffers.record_clear(&mut recording.encoder);
        let mut pass = Pass::begin(&self.gpu, &mut recording.encoder);
        let order = self.query.record_order(
            &mut pass,
            is_sorted.then_some(&sort),
            count as u32,
            &params,
            &tree.cube,
            buffers.queries.all(),
            &buffers,
        );
        pass.finish()?;
        drop(pass);
        recording.submit(&self.gpu)?;
        Ok(Part { built, buffers, said, params, order, count: count as u32 })
    }

    /// Finds the first answers of each query, and hands over, part by part, a row for each; behind the answers it has entries
    /// without a box. No more are asked for than rows have.
    async fn ask_rows<T: Pod>(
        &mut self,
        asked: &Ranking<'_>,
        mut each: impl FnMut(&[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let most = self.most_queries(asked.stride(), asked.k);
        for first in (0..asked.query_count).step_by(most) {
            let mut part = self.begin_rows(asked, first, most)?;
            self.read_rows(&mut part, asked, &mut each).await?;
        }
        Ok(())
    }

    /// Finds the first answers of each query where they are more than rows have, and hands over the list of each: one row after
    /// the other, put together here.
    async fn ask_long_rows<T: Pod>(
        &mut self,
        asked: &Ranking<'_>,
        index: impl Fn(&T) -> u32,
        mut each: impl FnMut(&[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (most, width) = (self.most_queries(asked.stride(), asked.k), asked.width());
        for first in (0..asked.query_count).step_by(most) {
            let mut part = self.begin_rows(asked, first, most)?;
            let mut lists: Vec<Vec<T>> = vec![Vec::new(); part.count as usize];
            for done in (0..asked.k).step_by(width) {
                if done > 0 {
                    part.begin(self, QUERY_NEXT_ROW)?;
                }
                let mut found = false;
                self.read_rows(&mut part, asked, |rows: &[T]| {
                    lists.iter_mut().zip(rows.chunks(width)).try_for_each(|(list, row)| {
                        let row = &row[..row.partition_point(|a| index(a) != NO_BOX).min(asked.k - done)];
                        found |= !row.is_empty();
                        make_room(list, row.len())?;
                        list.extend_from_slice(row);
                        Ok(())
                    })
                })
                .await?;
                if !found {
                    break;
                }
            }
            lists.iter().try_for_each(|list| each(list))?;
        }
        Ok(())
    }

    /// Says that the first `k` answers of each query of a batch are asked for.
    fn ranking<'a, Q: Start>(
        &self,
        batch: &Batch<'a, Q>,
        words: &'a [u32],
        k: usize,
        ranked: Ranked,
        waiting: Waiting,
    ) -> Ranking<'a> {
        let is_in_order = is_in_order(batch.queries, &self.scene());
        Ranking { words, query_count: batch.queries.len(), filters: batch.filters, is_in_order, k, ranked, waiting }
    }

    /// Begins a part of queries that are ranked, of `most` at most.
    fn begin_rows(&mut self, asked: &Ranking<'_>, first: usize, most: usize) -> Result<Part, Error> {
        let (stride, width) = (asked.stride(), asked.width());
        let count = most.min(asked.query_count - first);
        let packed = Packed::of_words(&asked.words[first * stride..(first + count) * stride], count);
        let room = QueryRoom::of_rows(count, width);
        self.begin_part(&packed, asked.filters, first, asked.is_in_order, width as u32, room)
    }

    /// Fills a row of each query of a part, in as many dispatches as it takes, and reads them.
    async fn read_rows<T: Pod>(
        &mut self,
        part: &mut Part,
        asked: &Ranking<'_>,
        each: impl FnOnce(&[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (count, width) = (part.count as usize, asked.width());
        loop {
            let readback = self.rows_once(part, asked.ranked, width)?;
            let readback = wait(&self.gpu, readback, asked.waiting).await?;
            if !readback.read(0, count, |states: &[[u32; 4]]| part.resume(self, states))?? {
                return readback.read((count * 16) as u64, count * width, each)?;
            }
        }
    }

    /// Submits the ranking of what is left of a part, and reads what the queries leave, then all rows.
    fn rows_once(&mut self, part: &Part, ranked: Ranked, width: usize) -> Result<Readback, Error> {
        let count = u64::from(part.count);
        let (of_states, of_rows) = (count * 16, count * width as u64 * 8);
        let copies = [(part.buffers.states.raw(), of_states), (part.buffers.answers.raw(), of_rows)];
        self.submit_part(part, &copies, |query, pass, input| {
            query.record_rows(pass, ranked, input, &part.buffers);
            // It is worth a try: most queries end in one dispatch.
            query.record_ranked(pass, ranked, input, &part.buffers);
            Ok(())
        })
    }

    /// Submits what `record` records for a part, and begins to read the first bytes of some buffers, one behind the other.
    fn submit_part(
        &mut self,
        part: &Part,
        copies: &[(&wgpu::Buffer, u64)],
        record: impl FnOnce(&Query, &mut Pass, &BatchInput<'_>) -> Result<(), Error>,
    ) -> Result<Readback, Error> {
        let bytes = copies.iter().map(|(_, bytes)| bytes).sum();
        let staging = self.memory.staging(&self.gpu, bytes)?;
        let Some((_, tree)) = &self.made else { return Err(Error::NothingSubmitted) };
        let mut recording = Recording::begin(&self.gpu);
        part.buffers.record_clear(&mut recording.encoder);
        let mut pass = Pass::begin(&self.gpu, &mut recording.encoder);
        record(&self.query, &mut pass, &part.input(tree, &self.filters))?;
        pass.finish()?;
        drop(pass);
        let mut to = 0;
        for &(buffer, bytes) in copies {
            recording.encoder.copy_buffer_to_buffer(buffer, 0, &staging, to, bytes);
            to += bytes;
        }
        recording.read(&self.gpu, &staging, bytes)
    }

    /// Counts the answers of a part, in as many dispatches as it takes, and returns the counts, or where the list of each query
    /// begins.
    async fn count_part(
        &mut self,
        part: &mut Part,
        listed: Listed,
        sums: bool,
        waiting: Waiting,
    ) -> Result<Vec<u64>, Error> {
        let window = self.windows.get(&self.gpu, bytemuck::Zeroable::zeroed())?;
        let wide = |states: &[[u32; 4]]| {
            let mut counts = Vec::new();
            make_room(&mut counts, states.len())?;
            extend(&mut counts, states, |words| u64::from(words[1]) << 32 | u64::from(words[0]));
            Ok(counts)
        };
        let count = part.count as usize;
        let readback = self.list_all(part, listed, &window, waiting).await?;
        if !sums {
            return readback.read(0, count, wide)?;
        }
        // The staging buffer is mapped as long as it is read.
        drop(readback);
        part.begin(self, 0)?;
        let readback = self.sums_once(part, &window)?;
        let readback = wait(&self.gpu, readback, waiting).await?;
        readback.read(0, count + 1, wide)?
    }

    /// Counts the answers of a part, or writes those in a window, until no query has any left. Returns what the queries left
    /// last.
    async fn list_all(
        &mut self,
        part: &mut Part,
        listed: Listed,
        window: &Buffer<Window>,
        waiting: Waiting,
    ) -> Result<Readback, Error> {
        let count = part.count as usize;
        loop {
            let copies = [(part.buffers.offsets.raw(), count as u64 * 16)];
            let readback = self.submit_part(part, &copies, |query, pass, input| {
                query.record_walk(pass, listed, input, window, &part.buffers);
                Ok(())
            })?;
            let readback = wait(&self.gpu, readback, waiting).await?;
            let is_left = readback.read(0, count, |states: &[[u32; 4]]| part.resume(self, states))??;
            if !is_left {
                return Ok(readback);
            }
        }
    }

    /// Submits the sums of what was counted, and reads where lists begin.
    fn sums_once(&mut self, part: &Part, window: &Buffer<Window>) -> Result<Readback, Error> {
        let copies = [(part.buffers.offsets.raw(), (u64::from(part.count) + 1) * 16)];
        self.submit_part(part, &copies, |query, pass, input| {
            query.record_offsets(pass, input, window, &part.buffers);
            Ok(())
        })
    }

    /// Submits the writing of the lists that were kept, and the canonical order of all answers in a window, of this many, if
    /// others were written too; and reads them.
    fn answers_once(
        &mut self,
        part: &Part,
        listed: Listed,
        window: &Buffer<Window>,
        length: u64,
        has_long: bool,
    ) -> Result<Readback, Error> {
        let copies = [(part.buffers.pairs.raw(), length * size_of::<Pair>() as u64)];
        let box_count = part.built.room.boxes as u32;
        self.submit_part(part, &copies, |query, pass, input| {
            query.record_short(pass, input, window, &part.buffers);
            query.record_answers(pass, has_long, listed, input, window, box_count, &part.buffers)
        })
    }

    /// Brings all lists of a part, as pairs: of query and box, or where paths are asked for of box and time.
    #[allow(clippy::too_many_arguments)]
    async fn read_lists<T: Copy + Send>(
        &mut self,
        mut part: Part,
        listed: Listed,
        offsets: &[u64],
        waiting: Waiting,
        out: &mut Vec<T>,
        answer: impl Fn(&Pair) -> T + Sync,
        key: impl Fn(&T) -> u32,
    ) -> Result<(), Error> {
        let (base, total) = (out.len(), offsets.last().copied().unwrap_or(0));
        make_room(out, usize::try_from(total).unwrap_or(usize::MAX))?;
        let capacity = self.most_answers(total);
        if part.buffers.pairs.len() < capacity {
            // Other buffers would be laid out anew: the queries and what was counted have to stay.
            part.buffers = part.buffers.with_room_for_answers(&self.gpu, capacity)?;
            if let Some((room, buffers)) = &mut self.memory.made {
                room.pairs = capacity;
                *buffers = part.buffers.clone();
            }
        }
        let mut first = 0;
        while first < total {
            let length = (total - first).min(capacity);
            let window = Window {
                first_low: first as u32,
                first_high: (first >> 32) as u32,
                capacity: length as u32,
                unused: 0,
            };
            let window = self.windows.get(&self.gpu, window)?;
            let scopes = self.gpu.open_scopes();
            part.buffers.answer_counts.write(&self.gpu, &[build::sort_counts(length as u32)]);
            scopes.close("queries")?;
            let is_here = |list: &[u64]| list[0] < first + length && list[1] > first;
            let is_long = |list: &[u64]| list[1] - list[0] > u64::from(part.said.kept);
            let each_list = offsets.par_windows(2).with_min_len(AT_ONCE);
            let has_long = each_list.any(|list| is_here(list) && is_long(list));
            if has_long {
                part.begin(self, QUERY_EMITS)?;
                drop(self.list_all(&mut part, listed, &window, waiting).await?);
            }
            part.begin(self, 0)?;
            let readback = self.answers_once(&part, listed, &window, length, has_long)?;
            let readback = wait(&self.gpu, readback, waiting).await?;
            readback.read(0, length as usize, |pairs: &[Pair]| extend(out, pairs, &answer))?;
            // A list that lies in two windows is sorted in each of them.
            let cut = offsets.partition_point(|&offset| offset <= first).saturating_sub(1);
            if first > 0 && offsets[cut] < first {
                let end = offsets[cut + 1].min(first + length);
                out[base + offsets[cut] as usize..base + end as usize].sort_unstable_by_key(&key);
            }
            first += length;
        }
        Ok(())
    }

    // ---- the calls ----

    pub(super) async fn ask_nearest_hits<C: Cast>(
        &mut self,
        batch: Batch<'_, C>,
        waiting: Waiting,
    ) -> Result<Answers<Hit>, Error> {
        let count = batch.queries.len();
        batch.filters.check(count)?;
        let mut answers = Vec::new();
        make_room(&mut answers, count)?;
        if self.built.is_none() || count == 0 {
            answers.resize(count, Hit::MISS);
        } else {
            let words = C::words(batch.queries);
            let asked = self.ranking(&batch, &words, 1, Ranked::Hits, waiting);
            self.ask_rows(&asked, |rows| {
                extend(&mut answers, rows, |hit: &Hit| if hit.is_hit() { *hit } else { Hit::MISS });
                Ok(())
            })
            .await?;
        }
        let answer_count = answers.par_iter().with_min_len(AT_ONCE).filter(|hit| hit.is_hit()).count() as u64;
        Ok(Answers { answers, report: report(batch.queries, |cast| cast.path().is_some(), answer_count) })
    }

    pub(super) async fn ask_first_hits<C: Cast>(
        &mut self,
        batch: Batch<'_, C>,
        k: usize,
        waiting: Waiting,
    ) -> Result<Lists<Hit>, Error> {
        let is_valid = |cast: &C| cast.path().is_some();
        self.ask_ranked(batch, &C::words(batch.queries), k, Ranked::Hits, is_valid, |hit: &Hit| hit.index, waiting)
            .await
    }

    pub(super) async fn ask_nearest(
        &mut self,
        batch: Batch<'_, NearestQuery>,
        k: usize,
        waiting: Waiting,
    ) -> Result<Lists<Near>, Error> {
        let words = bytemuck::cast_slice(batch.queries);
        self.ask_ranked(batch, words, k, Ranked::Near, NearestQuery::is_valid, |near: &Near| near.index, waiting).await
    }

    /// Finds the first `k` answers of each query as lists.
    #[allow(clippy::too_many_arguments)]
    async fn ask_ranked<Q: Start + Copy + Sync, T: Pod + Send + Sync>(
        &mut self,
        batch: Batch<'_, Q>,
        words: &[u32],
        k: usize,
        ranked: Ranked,
        is_valid: impl Fn(&Q) -> bool + Sync,
        index: impl Fn(&T) -> u32 + Sync,
        waiting: Waiting,
    ) -> Result<Lists<T>, Error> {
        let count = batch.queries.len();
        batch.filters.check(count)?;
        check_k(k)?;
        let mut lists = Lists { offsets: Vec::new(), answers: Vec::new(), report: QueryReport::default() };
        make_room(&mut lists.offsets, count + 1)?;
        lists.offsets.push(0);
        // No query has more answers than there are boxes.
        let k = k.min(self.report.box_count as usize);
        if self.built.is_none() || count == 0 || k == 0 {
            lists.offsets.resize(count + 1, 0);
        } else {
            let asked = self.ranking(&batch, words, k, ranked, waiting);
            let width = asked.width();
            if k == width {
                self.ask_rows(&asked, |rows| append_rows(&mut lists, rows, width, &index)).await?;
            } else {
                self.ask_long_rows(&asked, &index, |list| {
                    make_room(&mut lists.answers, list.len())?;
                    lists.answers.extend_from_slice(list);
                    lists.offsets.push(lists.answers.len() as u64);
                    Ok(())
                })
                .await?;
            }
        }
        lists.report = report(batch.queries, is_valid, lists.answers.len() as u64);
        Ok(lists)
    }

    pub(super) async fn ask_any_hits<C: Cast>(
        &mut self,
        batch: Batch<'_, C>,
        waiting: Waiting,
    ) -> Result<Answers<bool>, Error> {
        let count = batch.queries.len();
        batch.filters.check(count)?;
        let mut answers = Vec::new();
        make_room(&mut answers, count)?;
        if self.built.is_some() && count > 0 {
            let in_order = is_in_order(batch.queries, &self.scene());
            let most = self.most_queries(C::WORDS, 1);
            for first in (0..count).step_by(most) {
                let some = &batch.queries[first..count.min(first + most)];
                let packed = Packed::of_words(C::words(some), some.len());
                let room = QueryRoom::of_any(some.len());
                let mut part = self.begin_part(&packed, batch.filters, first, in_order, 1, room)?;
                let counts = self.count_part(&mut part, Listed::Cross, false, waiting).await?;
                extend(&mut answers, &counts[..some.len()], |&count| count > 0);
            }
        }
        answers.resize(count, false);
        let answer_count = answers.par_iter().with_min_len(AT_ONCE).filter(|hit| **hit).count() as u64;
        Ok(Answers { answers, report: report(batch.queries, |cast| cast.path().is_some(), answer_count) })
    }

    pub(super) async fn ask_all_hits<'q, C: Cast>(
        &mut self,
        batch: Batch<'q, C>,
        waiting: Waiting,
    ) -> Result<Lists<Hit>, Error> {
        let most = self.most_lists(C::WORDS);
        let packed = |queries: &'q [C]| {
            let some = &queries[..queries.len().min(most)];
            (Packed::of_words(C::words(some), some.len()), Listed::Cross)
        };
        let is_valid = |cast: &C| cast.path().is_some();
        let hit = |pair: &Pair| Hit { index: pair.a, t: f32::from_bits(pair.b) };
        self.ask_lists(batch, packed, is_valid, waiting, hit, |hit| hit.index).await
    }

    pub(super) async fn ask_overlaps<'q, S: Shape>(
        &mut self,
        batch: Batch<'q, S>,
        waiting: Waiting,
    ) -> Result<Lists<u32>, Error> {
        let (words, most) = (self.most_words(), self.most_lists(5));
        let packed = |queries: &'q [S]| pack::shapes(&queries[..queries.len().min(most)], words);
        let is_valid = |shape: &S| shape.region().is_some();
        let parts = |shape: &S| shape.region().map_or(0, |region| pack::part_count(&region));
        if S::words(&[]).is_none()
            && let Some((index, count)) = batch
                .queries
                .par_iter()
                .enumerate()
                .with_min_len(AT_ONCE)
                .map(|(i, shape)| (i as u64, parts(shape)))
                .find_first(|(_, count)| *count > Convex::MOST_ON_GPU)
        {
            return Err(Error::TooManyHalfSpaces { index, count: count as u64, most: Convex::MOST_ON_GPU as u64 });
        }
        self.ask_lists(batch, packed, is_valid, waiting, |pair| pair.b, |&index| index).await
    }

    async fn ask_lists<'q, Q: Start + Copy + Sync, T: Copy + Send>(
        &mut self,
        batch: Batch<'q, Q>,
        packed: impl Fn(&'q [Q]) -> (Packed<'q>, Listed),
        is_valid: impl Fn(&Q) -> bool + Sync,
        waiting: Waiting,
        answer: impl Fn(&Pair) -> T + Sync,
        key: impl Fn(&T) -> u32,
    ) -> Result<Lists<T>, Error> {
        let count = batch.queries.len();
        batch.filters.check(count)?;
        let mut lists = Lists { offsets: Vec::new(), answers: Vec::new(), report: QueryReport::default() };
        make_room(&mut lists.offsets, count + 1)?;
        lists.offsets.push(0);
        let in_order = is_in_order(batch.queries, &self.scene());
        let mut first = 0;
        while self.built.is_some() && first < count {
            let (packed, listed) = packed(&batch.queries[first..]);
            let room = QueryRoom::of_lists(packed.count);
            let mut part = self.begin_part(&packed, batch.filters, first, in_order, u32::MAX, room)?;
            let offsets = self.count_part(&mut part, listed, true, waiting).await?;
            let base = lists.answers.len() as u64;
            self.read_lists(part, listed, &offsets, waiting, &mut lists.answers, &answer, &key).await?;
            extend(&mut lists.offsets, &offsets[1..], |offset| base + offset);
            first += packed.count;
        }
        lists.offsets.resize(count + 1, lists.answers.len() as u64);
        lists.report = report(batch.queries, is_valid, lists.answers.len() as u64);
        Ok(lists)
    }
}

/// Appends rows of so many answers each, without the entries that have no box.
fn append_rows<T: Pod + Send + Sync>(
    lists: &mut Lists<T>,
    rows: &[T],
    width: usize,
    index: impl Fn(&T) -> u32 + Sync,
) -> Result<(), Error> {
    let Lists { offsets, answers, .. } = lists;
    let of_row = |row: &[T]| row.partition_point(|answer| index(answer) != NO_BOX);
    let mut lengths = Vec::new();
    make_room(&mut lengths, rows.len() / width)?;
    lengths.par_extend(rows.par_chunks(width).with_min_len(AT_ONCE).map(of_row));
    let mut end = answers.len() as u64;
    offsets.extend(lengths.iter().map(|&length| {
        end += length as u64;
        end
    }));
    make_room(answers, end as usize - answers.len())?;
    if end as usize == answers.len() + rows.len() {
        extend(answers, rows, |answer| *answer);
    } else {
        for (row, &length) in rows.chunks(width).zip(&lengths) {
            answers.extend_from_slice(&row[..length]);
        }
    }
    Ok(())
}

fn report<Q: Sync>(queries: &[Q], is_valid: impl Fn(&Q) -> bool + Sync, answer_count: u64) -> QueryReport {
    let invalid: Vec<u64> = queries
        .par_iter()
        .enumerate()
        .with_min_len(AT_ONCE)
        .filter(|(_, query)| !is_valid(query))
        .map(|(i, _)| i as u64)
        .collect();
    QueryReport::new(queries.len(), &invalid, answer_count)
}
