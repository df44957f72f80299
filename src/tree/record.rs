//! Queries in buffers of the caller's, whose answers stay on the GPU.
//!
//! The host reads nothing back, so it cannot know which queries a dispatch leaves to the next. Some rounds are therefore
//! recorded ahead; each takes what the round before has left, and no workgroups where that is nothing.

use std::marker::PhantomData;
use std::mem::offset_of;

use bytemuck::{Pod, Zeroable};

use super::Tree;
use super::ask::{ROW, SORTED, budget};
use super::build::{TreeBuffers, TreeRoom, sort_sizes};
use super::query::{Asks, BatchInput, Kept, Listed, QueryBuffers, QueryRoom, Ranked};
use crate::constants::{STATUS_ANSWERED, STATUS_INVALID, STATUS_UNFINISHED};
use crate::gpu::buffers::Buffer;
use crate::gpu::given::{bind, check};
use crate::gpu::kernel::Pass;
use crate::gpu::limits::limit_name;
use crate::gpu::table::CONSTANT;
use crate::grid::sort::Sort;
use crate::grid::sort_variant;
use crate::layout::{Dispatches, QueryParams, Round, TreeShape, Window};
use crate::{Aabb, Asker, BoxCast, Cast, Error, NearestQuery, Ray, Shape, Sphere};

/// Rounds that go on after the first, unless the caller says how many, on a GPU and in software.
const ROUNDS: [u32; 2] = [4, 16];
/// The most there may be.
const MOST_ROUNDS: u32 = 4096;
/// Constants of rounds that are kept for the next recording.
pub(super) const KEPT_ROUNDS: usize = 128;

/// A query that lies in a buffer of the device as it does in host memory: [`Ray`], [`BoxCast`], `[f32; 3]` (a point),
/// [`Aabb`], [`Sphere`] and [`NearestQuery`]. Other shapes are asked from host memory, which cuts them out of half-spaces
/// first.
pub trait GpuQuery: Pod + sealed::GpuQuery {}

mod sealed {
    pub trait GpuQuery {}
}

macro_rules! gpu_queries {
    ($($query:ty),*) => {
        $(
            impl sealed::GpuQuery for $query {}
            impl GpuQuery for $query {}
        )*
    };
}

gpu_queries!(Ray, BoxCast, [f32; 3], Aabb, Sphere, NearestQuery);

/// A batch of queries of one kind in a buffer of the caller's, for the calls of [`Tree`] that record.
#[derive(Clone, Copy, Debug)]
pub struct GpuBatch<'a, Q> {
    queries: wgpu::BufferSlice<'a>,
    query_count: u32,
    askers: Option<wgpu::BufferSlice<'a>>,
    is_in_order: bool,
    rounds: Option<u32>,
    kind: PhantomData<Q>,
}

impl<'a, Q: GpuQuery> GpuBatch<'a, Q> {
    /// Takes `query_count` queries at the start of `queries`, a buffer of the device or a part of one, made with
    /// `BufferUsages::STORAGE`: one after the other, little-endian, as `bytemuck` casts a slice of `Q`.
    pub fn new(queries: wgpu::BufferSlice<'a>, query_count: u32) -> Self {
        Self { queries, query_count, askers: None, is_in_order: false, rounds: None, kind: PhantomData }
    }

    /// Says what each query says beside its shape: as many [`Asker`]s in a buffer of the same kind.
    pub fn with_askers(self, askers: wgpu::BufferSlice<'a>) -> Self {
        Self { askers: Some(askers), ..self }
    }

    /// Says that most queries start near the one before, as those of a camera do. They are not sorted then. That makes them
    /// faster or slower, and no answer different.
    pub fn in_order(self) -> Self {
        Self { is_in_order: true, ..self }
    }

    /// Says how many rounds are recorded beside the first: at least 1, and without this call 4 on a GPU and 16 in software.
    /// A round that is not needed takes two empty dispatches. One that is takes up to 2¹⁸ steps of each query on a GPU and some
    /// thousand in software, where drivers end longer loops; queries that are in doubt in `f32` need a second one in any case. A query
    /// that is not done in all of them has no answers, is marked, and is counted
    /// ([`QueryHeader::unfinished`](crate::QueryHeader::unfinished)): record it again with more rounds, or ask it from host memory.
    pub fn with_rounds(self, rounds: u32) -> Self {
        Self { rounds: Some(rounds), ..self }
    }
}

/// One row of answers to each query, left on the GPU. The buffers are handles: they are cloned in no time, may be longer than
/// what is there, and can be used as storage and to copy from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GpuAnswers {
    /// The answers to each query, in the order of the queries: `[query_count * k]` [`Hit`](crate::Hit)s or
    /// [`Near`](crate::Near)s, of which those that are not there have index 2³² − 1 and are at infinity; or `[query_count]` words,
    /// 1 where the query hits a box and 0 where it does not.
    pub answers: wgpu::Buffer,
    /// `[query_count]` words: [`ANSWERED`](Self::ANSWERED), [`INVALID`](Self::INVALID) or [`UNFINISHED`](Self::UNFINISHED).
    pub status: wgpu::Buffer,
    /// A [`QueryHeader`](crate::QueryHeader).
    pub header: wgpu::Buffer,
}

impl GpuAnswers {
    /// Marks a query that has all its answers.
    pub const ANSWERED: u32 = STATUS_ANSWERED;
    /// Marks a query with a NaN or another number that has no meaning.
    pub const INVALID: u32 = STATUS_INVALID;
    /// Marks a query that was not done in the rounds that were recorded.
    pub const UNFINISHED: u32 = STATUS_UNFINISHED;
}

/// A list of answers to each query, left on the GPU: rows that lie one after the other. The buffers are as those of
/// [`GpuAnswers`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GpuLists {
    /// `[query_count + 1]` where the list of each query begins among all answers, and where the last one ends: 64 bits each,
    /// little-endian.
    pub offsets: wgpu::Buffer,
    /// `[capacity]` answers, of which the first [`QueryHeader::written`](crate::QueryHeader::written) are there:
    /// [`Hit`](crate::Hit)s where paths were asked, and else [`Pair`](crate::Pair)s of query and box. Ascending by query, then by
    /// box.
    pub answers: wgpu::Buffer,
    /// As [`GpuAnswers::status`].
    pub status: wgpu::Buffer,
    /// A [`QueryHeader`](crate::QueryHeader).
    pub header: wgpu::Buffer,
    /// Holds, [`DISPATCH_OFFSET`](Self::DISPATCH_OFFSET) bytes from its start, the arguments of an indirect dispatch. The buffer
    /// can be used for indirect calls.
    pub arguments: wgpu::Buffer,
    /// The answers that fit.
    pub capacity: u32,
}

impl GpuLists {
    /// The offset of the arguments of an indirect dispatch in [`arguments`](Self::arguments): workgroups of 256 invocations that
    /// cover the answers that are written.
    pub const DISPATCH_OFFSET: u64 = offset_of!(Dispatches, order) as u64;
}

/// What is recorded.
#[derive(Clone, Copy)]
enum Wanted {
    Rows(Ranked, u32),
    Any,
    Lists(Listed, Window),
}

impl Wanted {
    fn kept(self) -> Kept {
        match self {
            Self::Rows(..) => Kept::Rows,
            Self::Any => Kept::Any,
            Self::Lists(..) => Kept::Lists,
        }
    }

    /// Returns how many answers of a query are looked for.
    fn most(self) -> u32 {
        match self {
            Self::Rows(_, k) => k,
            Self::Any => 1,
            Self::Lists(..) => u32::MAX,
        }
    }

    /// Returns what is listed, or counted up to the first.
    fn listed(self) -> Listed {
        match self {
            Self::Lists(listed, _) => listed,
            Self::Rows(..) | Self::Any => Listed::Cross,
        }
    }

    fn window(self) -> Window {
        match self {
            Self::Lists(_, window) => window,
            Self::Rows(..) | Self::Any => Window::zeroed(),
        }
    }
}

/// The tree that a recording asks.
struct Asked {
    room: TreeRoom,
    tree: TreeBuffers,
    shape: Buffer<TreeShape>,
}

/// Each call records into `encoder` what a batch in a buffer of the caller's is to be answered, and returns the buffers in which
/// the answers will lie. Nothing is submitted or read back, and nothing blocks once the kernels are compiled, which the first
/// call of a kind does. Answers are those of the calls that take queries from host memory, bit for bit.
///
/// The buffers are shared by all recordings of one tree: use answers before the commands of the next recording run, in the same
/// encoder or another. Calls with queries from host memory have other buffers. Submit before the tree is built or refitted in
/// another way than by [`record_build`](Self::record_build) and [`record_refit`](Self::record_refit), and before its filters are
/// changed. A tree without boxes answers that there are none.
///
/// ```no_run
/// use broadsweep::{Error, GpuAnswers, GpuBatch, Ray, Tree, wgpu};
///
/// /// Fits a tree to boxes that have moved, and asks it with rays, all in buffers.
/// fn cast(
///     tree: &mut Tree,
///     encoder: &mut wgpu::CommandEncoder,
///     (boxes, box_count): (&wgpu::Buffer, u32),
///     (rays, ray_count): (&wgpu::Buffer, u32),
/// ) -> Result<GpuAnswers, Error> {
///     tree.record_refit(encoder, boxes.slice(..), box_count)?;
///     tree.record_nearest_hits(encoder, GpuBatch::<Ray>::new(rays.slice(..), ray_count))
/// }
/// ```
impl Tree {
    /// Records the first box that each path hits: by `t`, then by index. `answers` has a [`Hit`](crate::Hit) for each query.
    ///
    /// # Errors
    /// [`Error::BadBuffer`] where a slice has no room for the queries, begins at no multiple of the device's
    /// `min_storage_buffer_offset_alignment`, or cannot be bound as storage; [`Error::TooManyQueries`]; [`Error::BadOption`] for
    /// rounds that are none or too many; [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn record_nearest_hits<C: Cast + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, C>,
    ) -> Result<GpuAnswers, Error> {
        self.record_rows(encoder, batch, Ranked::Hits, 1)
    }

    /// Records the first `k` boxes that each path hits: by `t`, then by index.
    ///
    /// # Errors
    /// As [`record_nearest_hits`](Self::record_nearest_hits); [`Error::BadOption`] where `k` is not between 1 and 64.
    pub fn record_first_hits<C: Cast + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, C>,
        k: u32,
    ) -> Result<GpuAnswers, Error> {
        self.record_rows(encoder, batch, Ranked::Hits, k)
    }

    /// Records the `k` boxes that are nearest to each point: by distance, then by index. `answers` has `k` [`Near`](crate::Near)s
    /// for each query.
    ///
    /// # Errors
    /// As [`record_first_hits`](Self::record_first_hits).
    pub fn record_nearest(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, NearestQuery>,
        k: u32,
    ) -> Result<GpuAnswers, Error> {
        self.record_rows(encoder, batch, Ranked::Near, k)
    }

    /// Records whether each path hits a box: a word for each query.
    ///
    /// # Errors
    /// As [`record_nearest_hits`](Self::record_nearest_hits).
    pub fn record_any_hits<C: Cast + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, C>,
    ) -> Result<GpuAnswers, Error> {
        let buffers = self.record_batch(encoder, batch, Wanted::Any)?;
        Ok(answers(&buffers, buffers.ends.raw()))
    }

    /// Records all boxes that each path hits, ascending by index: of the list of all answers, those from number `first` on, as
    /// many as `capacity`. Where these are not all, the header says so, with the exact number.
    ///
    /// # Errors
    /// As [`record_nearest_hits`](Self::record_nearest_hits).
    pub fn record_all_hits<C: Cast + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, C>,
        first: u64,
        capacity: u32,
    ) -> Result<GpuLists, Error> {
        self.record_lists(encoder, batch, Listed::Cross, first, capacity)
    }

    /// Records all boxes that each point, box or sphere touches, ascending by index; with a window as
    /// [`record_all_hits`](Self::record_all_hits).
    ///
    /// # Errors
    /// As [`record_nearest_hits`](Self::record_nearest_hits).
    pub fn record_overlaps<S: Shape + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, S>,
        first: u64,
        capacity: u32,
    ) -> Result<GpuLists, Error> {
        let listed = if size_of::<S>() == size_of::<Sphere>() { Listed::Sphere } else { Listed::Touch };
        self.record_lists(encoder, batch, listed, first, capacity)
    }

    fn record_rows<Q: GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, Q>,
        ranked: Ranked,
        k: u32,
    ) -> Result<GpuAnswers, Error> {
        if !(1..=ROW as u32).contains(&k) {
            return Err(Error::BadOption { option: "k", value: k.to_string(), expected: "between 1 and 64" });
        }
        let buffers = self.record_batch(encoder, batch, Wanted::Rows(ranked, k))?;
        Ok(answers(&buffers, buffers.answers.raw()))
    }

    fn record_lists<Q: GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, Q>,
        listed: Listed,
        first: u64,
        capacity: u32,
    ) -> Result<GpuLists, Error> {
        let window = Window { first_low: first as u32, first_high: (first >> 32) as u32, capacity, unused: 0 };
        let buffers = self.record_batch(encoder, batch, Wanted::Lists(listed, window))?;
        Ok(GpuLists {
            offsets: buffers.ends.raw().clone(),
            answers: buffers.pairs.raw().clone(),
            status: buffers.status.raw().clone(),
            header: buffers.header.raw().clone(),
            arguments: buffers.answer_dispatches.raw().clone(),
            capacity,
        })
    }

    fn record_batch<Q: GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, Q>,
        wanted: Wanted,
    ) -> Result<QueryBuffers, Error> {
        let count = batch.query_count;
        check::<Q>(&self.gpu, batch.queries, count, "query", "queries")?;
        if let Some(askers) = batch.askers {
            check::<Asker>(&self.gpu, askers, count, "asker", "askers")?;
        }
        let rounds = batch.rounds.unwrap_or(ROUNDS[usize::from(self.gpu.is_software())]);
        if !(1..=MOST_ROUNDS).contains(&rounds) {
            let expected = "between 1 and 4096";
            return Err(Error::BadOption { option: "rounds", value: rounds.to_string(), expected });
        }
        self.check_device()?;
        let asked = self.asked()?;
        let has_worlds = asked.room.worlds > 0;
        let numbers_worlds = batch.askers.is_some() && has_worlds;
        let room = self.room_of(count, wanted, rounds, numbers_worlds)?;
        let buffers = self.recorded.make_room(&self.gpu, room)?;
        if let Some(built) = &self.built {
            self.filters.upload(&self.gpu, built.room.boxes as usize, false)?;
        }
        let worlds = if numbers_worlds { Some(self.world_ids()?) } else { None };
        let of_boxes = self.filters.filters();
        let asks = Asks {
            boxes: batch.askers.is_some() || !(of_boxes.group.is_empty() && of_boxes.mask.is_empty()),
            askers: batch.askers.is_some(),
            is_single: matches!(wanted, Wanted::Rows(_, 1)),
            decides: false,
        };
        let words = (size_of::<Q>() / size_of::<u32>()) as u32;
        let said = QueryParams {
            query_count: count,
            words,
            most: wanted.most(),
            parts: count * words,
            rule: of_boxes.rule.code(),
            round_count: rounds + 1,
            ..QueryParams::zeroed()
        };
        let phases = if wanted.kept() == Kept::Lists { 2 } else { 1 };
        let params: Vec<Buffer<QueryParams>> = (0..phases * said.round_count)
            .map(|round| {
                let decides = round % said.round_count > 0;
                let budget = budget(&self.gpu, decides);
                self.round_params.get(&self.gpu, QueryParams { round, budget, is_resumed: decides.into(), ..said })
            })
            .collect::<Result<_, _>>()?;
        let window = self.windows.get(&self.gpu, wanted.window())?;
        let sort = Sort::with_variant(&self.gpu, sort_variant(&self.gpu)?)?;
        let is_sorted = count as usize >= SORTED && asked.room.boxes >= SORTED as u64 && !batch.is_in_order;

        let scopes = self.gpu.open_scopes();
        encoder.clear_buffer(buffers.rounds.raw(), 0, Some(room.rounds * size_of::<Round>() as u64));
        let (counts, dispatches) = sort_sizes(count);
        buffers.query_counts.record_write(&self.gpu, encoder, &[counts])?;
        buffers.query_dispatches.record_write(&self.gpu, encoder, &[dispatches])?;
        let (counts, dispatches) = sort_sizes(0);
        buffers.answer_counts.record_write(&self.gpu, encoder, &[counts])?;
        buffers.answer_dispatches.record_write(&self.gpu, encoder, &[dispatches])?;
        let mut pass = Pass::begin(&self.gpu, encoder);
        let queries = bind::<Q>(batch.queries, count).unwrap_or_else(|| buffers.queries.all());
        let given = batch.askers.and_then(|askers| bind::<Asker>(askers, count));
        let own = || buffers.askers.all();
        let order = self.query.record_order(
            &mut pass,
            is_sorted.then_some(&sort),
            count,
            &params[0],
            &asked.tree.cube,
            queries.clone(),
            &buffers,
        );
        let input = |round: u32, after: Option<u32>| BatchInput {
            query_count: count,
            shape: &asked.shape,
            tree: &asked.tree,
            filters: &self.filters.lists,
            params: &params[round as usize],
            queries: queries.clone(),
            askers: if worlds.is_some() { own() } else { given.clone().unwrap_or_else(own) },
            asks: Asks { decides: after.is_some(), ..asks },
            order: &order,
            after,
        };
        if let (Some(worlds), Some(given)) = (&worlds, &given) {
            self.query.record_askers(&mut pass, &input(0, None), worlds, given.clone(), &buffers);
        }
        for phase in 0..phases {
            let first = phase * said.round_count;
            for round in first..first + said.round_count {
                let input = input(round, (round > first).then(|| round - 1));
                match wanted {
                    Wanted::Rows(ranked, _) => self.query.record_rows(&mut pass, ranked, &input, &buffers),
                    Wanted::Any | Wanted::Lists(..) => {
                        self.query.record_walk(&mut pass, wanted.listed(), &input, &window, &buffers, phase > 0);
                    }
                }
                self.query.record_left(&mut pass, &input, wanted.kept() != Kept::Rows, &buffers);
            }
            if phase == 0 && phases > 1 {
                self.query.record_offsets(&mut pass, &input(0, None), &window, &buffers);
            }
        }
        match wanted {
            Wanted::Rows(ranked, k) => self.query.record_ranked(&mut pass, ranked, &input(0, None), k, &buffers),
            Wanted::Any => {}
            Wanted::Lists(listed, _) => {
                let boxes = asked.room.boxes as u32;
                self.query.record_answers(&mut pass, &sort, listed, &input(0, None), boxes, &buffers);
            }
        }
        self.query.record_ends(&mut pass, &input(0, None), wanted.kept(), &window, &buffers);
        pass.finish()?;
        drop(pass);
        scopes.close("recording")?;
        Ok(buffers)
    }

    /// Returns the room that a recording takes.
    fn room_of(&self, count: u32, wanted: Wanted, rounds: u32, numbers_worlds: bool) -> Result<QueryRoom, Error> {
        let queries = u64::from(count);
        let phases = if wanted.kept() == Kept::Lists { 2 } else { 1 };
        let room = QueryRoom {
            queries,
            askers: if numbers_worlds { queries } else { 0 },
            kept: queries,
            rounds: u64::from(phases * (rounds + 1)),
            ..QueryRoom::default()
        };
        let room = match wanted {
            Wanted::Rows(_, k) => QueryRoom { ranked: queries, rows: queries * u64::from(k), ..room },
            Wanted::Any => QueryRoom { lists: queries, ..room },
            Wanted::Lists(_, window) => QueryRoom { lists: queries, pairs: window.capacity.into(), ..room },
        };
        let (limit, available) = limit_name(&self.gpu.device().limits());
        match QueryBuffers::rows(&room).find(|(_, bytes)| *bytes > available) {
            Some((buffer, required)) => {
                Err(Error::TooManyQueries { query_count: queries, buffer, required, limit, available })
            }
            None => Ok(room),
        }
    }

    /// Returns the tree that is asked: where there is none, one of a box that is none.
    fn asked(&mut self) -> Result<Asked, Error> {
        if let (Some(built), Some((_, tree))) = (&self.built, &self.made) {
            return Ok(Asked { room: built.room, tree: tree.clone(), shape: built.shape.clone() });
        }
        let room = TreeRoom { boxes: 1, worlds: 0 };
        let shape = self.shapes.get(&self.gpu, room.shape())?;
        if let Some(tree) = &self.empty {
            return Ok(Asked { room, tree: tree.clone(), shape });
        }
        let tree = TreeBuffers::new(&self.gpu, &room)?;
        // One box that is above and below all, in a node that says so too.
        let (none, below) = (f32::INFINITY.to_bits(), f32::NEG_INFINITY.to_bits());
        let node = [[0, 0, 0, 0x01_0101], [!0, !0, 0, 0], [!0, !0, 0, 0], [!0, !0, 0, 0]];
        let boxes = [[none, none, none, below, below, below]; 2];
        let scopes = self.gpu.open_scopes();
        tree.nodes.write(&self.gpu, &node);
        let first = u64::from(room.shape().first_box);
        tree.nodes.write_at(&self.gpu, first, bytemuck::cast_slice(&boxes));
        scopes.close("queries")?;
        Ok(Asked { room, tree: self.empty.insert(tree).clone(), shape })
    }

    /// Returns the ids of all worlds with their numbers, ascending by id.
    fn world_ids(&mut self) -> Result<Buffer<[u32; 2]>, Error> {
        if let Some(ids) = &self.world_ids {
            return Ok(ids.clone());
        }
        let mut ids: Vec<[u32; 2]> = self.worlds.iter().map(|(&id, &number)| [id, number]).collect();
        ids.sort_unstable();
        Ok(self.world_ids.insert(Buffer::of(&self.gpu, "world_ids", &ids, CONSTANT)?).clone())
    }
}

fn answers(buffers: &QueryBuffers, answers: &wgpu::Buffer) -> GpuAnswers {
    GpuAnswers { answers: answers.clone(), status: buffers.status.raw().clone(), header: buffers.header.raw().clone() }
}
