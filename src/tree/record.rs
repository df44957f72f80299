//! Queries in buffers of the caller's, whose answers stay on the GPU.
//!
//! The host reads nothing back, so it cannot know which queries a dispatch leaves to the next. Some rounds are therefore
//! recorded ahead; each takes what the round before has left, and no workgroups where that is nothing.

use bytemuck::Zeroable;

use super::ask::{SORTED, budget};
use super::build::{TreeBuffers, TreeRoom, sort_counts};
use super::query::{BatchInput, Listed, Made, Query, QueryBuffers, QueryRoom, Ranked, flags_of, words_of};
use super::{GpuAnswers, GpuBatch, GpuLists, GpuQuery, GpuShape, Tree};
use crate::constants::{QUERY_ANY, QUERY_EMITS, QUERY_RESUMED, ROW};
use crate::filters::lists::FilterLists;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::given::{bind, bytes, check};
use crate::gpu::kernel::Pass;
use crate::gpu::limits::limit_name;
use crate::gpu::table::CONSTANT;
use crate::grid::sort::Sort;
use crate::grid::sort_variant;
use crate::layout::{QueryParams, Round, TreeShape, Window};
use crate::{Asker, Cast, Error, NearestQuery};

/// The most rounds there may be beside the first.
const MOST_ROUNDS: u32 = 4096;
/// Constants of rounds that are kept for the next recording.
pub(super) const KEPT_ROUNDS: usize = 128;

/// What is recorded.
#[derive(Clone, Copy)]
enum Wanted {
    Rows(Ranked, u32),
    Any,
    Lists(Listed, Window),
}

impl Wanted {
    fn is_listed(self) -> bool {
        matches!(self, Self::Lists(..))
    }

    /// Returns how often all rounds are recorded: lists are counted, then written.
    fn phases(self) -> u32 {
        if self.is_listed() { 2 } else { 1 }
    }

    /// Returns how many answers of a query are looked for.
    fn most(self) -> u32 {
        match self {
            Self::Rows(_, k) => k,
            Self::Any => 1,
            Self::Lists(..) => u32::MAX,
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

/// A batch that can be recorded.
struct Prepared<'a> {
    wanted: Wanted,
    query_count: u32,
    round_count: u32,
    asked: Asked,
    buffers: QueryBuffers,
    /// Of each round.
    params: Vec<(QueryParams, Buffer<QueryParams>)>,
    window: Buffer<Window>,
    sort: Sort,
    is_sorted: bool,
    /// The queries, or those of which others are made; none where there are none.
    queries: Option<wgpu::BindingResource<'a>>,
    /// How others are made of them, if they are.
    made: Option<(Made, Buffer<QueryParams>)>,
    /// What they say beside their shapes, as the caller gave it.
    given: Option<wgpu::BindingResource<'a>>,
    /// The numbers of worlds, where `given` has to have them.
    worlds: Option<Buffer<[u32; 2]>>,
}

impl Prepared<'_> {
    /// Records what the sorts are told, and that no round has left anything.
    fn record_sizes(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
        let buffers = &self.buffers;
        encoder.clear_buffer(buffers.rounds.raw(), 0, Some((self.params.len() * size_of::<Round>()) as u64));
        buffers.record_clear(encoder);
        if self.is_sorted {
            buffers.query_counts.record_write(gpu, encoder, &[sort_counts(self.query_count)])?;
        }
        Ok(())
    }

    fn bound_queries(&self) -> wgpu::BindingResource<'_> {
        let given = self.queries.clone().filter(|_| self.made.is_none());
        given.unwrap_or_else(|| self.buffers.queries.all())
    }

    /// Returns what the kernels of a round read.
    fn input<'a>(&'a self, filters: &'a FilterLists, order: &'a Buffer<u32>, round: u32) -> BatchInput<'a> {
        let own = || self.buffers.askers.all();
        let (said, params) = &self.params[round as usize];
        BatchInput {
            shape: &self.asked.shape,
            tree: &self.asked.tree,
            filters,
            said: *said,
            params,
            queries: self.bound_queries(),
            askers: if self.worlds.is_some() { own() } else { self.given.clone().unwrap_or_else(own) },
            order,
        }
    }

    /// Records all kernels of the batch.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn record(&self, pass: &mut Pass, query: &Query, filters: &FilterLists) -> Result<(), Error> {
        let Self { wanted, buffers, window, sort, .. } = self;
        if let (Some((made, params)), Some(given)) = (&self.made, &self.queries) {
            query.record_made(pass, *made, self.query_count, params, given.clone(), buffers);
        }
        let order = query.record_order(
            pass,
            self.is_sorted.then_some(sort),
            self.query_count,
            &self.params[0].1,
            &self.asked.tree.cube,
            self.bound_queries(),
            buffers,
        );
        let first = self.input(filters, &order, 0);
        if let (Some(worlds), Some(given)) = (&self.worlds, &self.given) {
            query.record_askers(pass, &first, worlds, given.clone(), buffers);
        }
        for phase in 0..wanted.phases() {
            if phase > 0 {
                query.record_offsets(pass, &first, window, buffers);
            }
            for round in phase * self.round_count..(phase + 1) * self.round_count {
                let input = self.input(filters, &order, round);
                match *wanted {
                    Wanted::Rows(ranked, _) => query.record_rows(pass, ranked, &input, buffers),
                    Wanted::Any => query.record_walk(pass, Listed::Cross, &input, window, buffers),
                    Wanted::Lists(listed, _) => query.record_walk(pass, listed, &input, window, buffers),
                }
                query.record_left(pass, &input, !matches!(wanted, Wanted::Rows(..)), buffers);
            }
        }
        match *wanted {
            Wanted::Rows(ranked, _) => query.record_ranked(pass, ranked, &first, buffers),
            Wanted::Any => {}
            Wanted::Lists(listed, _) => {
                query.record_short(pass, &first, window, buffers);
                let box_count = self.asked.room.boxes as u32;
                query.record_answers(pass, true, listed, &first, window, box_count, buffers)?;
            }
        }
        query.record_ends(pass, &first, window, buffers);
        Ok(())
    }
}

/// Each call records into `encoder` what a batch in a buffer of the caller's is to be answered, and returns the buffers in which
/// the answers will lie. Nothing is submitted or read back, and nothing blocks once the kernels are compiled, which the first
/// call of a kind does. Answers are those of the calls that take queries from host memory, bit for bit.
///
/// The buffers are shared by all recordings of one tree: use answers before the commands of the next recording run, in the same
/// encoder or another. Calls with queries from host memory have other buffers. Submit before the tree is built or refitted in
/// another way than by [`record_build`](Self::record_build) and [`record_refit`](Self::record_refit), and before its filters are
/// changed, here or in the broad phase that they are [shared](Self::share_filters) with. A tree of no boxes answers that there are none.
/// Half-spaces are refused: calls with queries from host memory answer them.
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
    /// rounds that are none or too many; [`Error::BadFilter`] for half-spaces; [`Error::NotBuilt`], [`Error::FiltersChanged`], [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
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

    /// Records all boxes that each point, box, sphere or convex shape touches, ascending by index; with a window as
    /// [`record_all_hits`](Self::record_all_hits).
    ///
    /// # Errors
    /// As [`record_nearest_hits`](Self::record_nearest_hits).
    pub fn record_overlaps<S: GpuShape>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, S>,
        first: u64,
        capacity: u32,
    ) -> Result<GpuLists, Error> {
        self.record_lists(encoder, batch, S::LISTED, first, capacity)
    }

    fn record_rows<Q: GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, Q>,
        ranked: Ranked,
        k: u32,
    ) -> Result<GpuAnswers, Error> {
        if !(1..=ROW).contains(&k) {
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
        Ok(lists(&self.record_listed(encoder, batch, listed, first, capacity)?, capacity))
    }

    /// Records lists, and returns the buffers of the batch.
    pub(super) fn record_listed<Q: GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, Q>,
        listed: Listed,
        first: u64,
        capacity: u32,
    ) -> Result<QueryBuffers, Error> {
        let window = Window { first_low: first as u32, first_high: (first >> 32) as u32, capacity, unused: 0 };
        self.record_batch(encoder, batch, Wanted::Lists(listed, window))
    }

    fn record_batch<Q: GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, Q>,
        wanted: Wanted,
    ) -> Result<QueryBuffers, Error> {
        let prepared = self.prepare(batch, wanted)?;
        let scopes = self.gpu.open_scopes();
        prepared.record_sizes(&self.gpu, encoder)?;
        let mut pass = Pass::begin(&self.gpu, encoder);
        prepared.record(&mut pass, &self.query, &self.filters.lists)?;
        pass.finish()?;
        drop(pass);
        scopes.close("recording")?;
        Ok(prepared.buffers)
    }

    /// Checks a batch, makes room for what is left of it, and uploads what its kernels are told.
    fn prepare<'a, Q: GpuQuery>(&mut self, batch: GpuBatch<'a, Q>, wanted: Wanted) -> Result<Prepared<'a>, Error> {
        let count = batch.query_count;
        check(&self.gpu, batch.queries, batch.bytes(), "query", || batch.content())?;
        if let Some(askers) = batch.askers {
            check(&self.gpu, askers, bytes::<Asker>(count), "asker", || format!("{count} askers"))?;
        }
        let (budget, usual_rounds) = budget(&self.gpu);
        let rounds = batch.rounds.unwrap_or(usual_rounds);
        if !(1..=MOST_ROUNDS).contains(&rounds) {
            let expected = "between 1 and 4096";
            return Err(Error::BadOption { option: "rounds", value: rounds.to_string(), expected });
        }
        self.check_device()?;
        self.filters.check_taken()?;
        self.check_built()?;
        self.filters.check_no_half_spaces()?;
        let asked = self.asked()?;
        let numbers_worlds = batch.askers.is_some() && asked.room.worlds > 0;
        let room = self.room_of(&batch, wanted, rounds, numbers_worlds)?;
        let (room, buffers) = self.recorded.make_room(&self.gpu, room)?;
        if let Some(built) = &self.built {
            self.filters.upload(&self.gpu, built.room.boxes as usize, false)?;
        }
        let worlds = if numbers_worlds { Some(self.world_ids()?) } else { None };
        let of_boxes = self.filters.filters();
        let has_filters = batch.askers.is_some();
        let has_groups = has_filters || of_boxes.has_groups();
        let mut flags = flags_of(count, wanted.most(), has_filters, has_groups, batch.skips_start);
        if matches!(wanted, Wanted::Any) {
            flags |= QUERY_ANY;
        }
        let said = QueryParams { kept: room.kept(), budget, ..self.said(&batch, wanted, rounds) };
        let params = (0..wanted.phases() * said.round_count).map(|round| {
            let resumed = if round % said.round_count > 0 { QUERY_RESUMED } else { 0 };
            let emits = if round >= said.round_count { QUERY_EMITS } else { 0 };
            let said = QueryParams { round, flags: flags | resumed | emits, ..said };
            Ok((said, self.round_params.get(&self.gpu, said)?))
        });
        let of_given = QueryParams { words: words_of::<Q>(), ..said };
        let made = match Q::MADE {
            Some(made) => Some((made, self.round_params.get(&self.gpu, of_given)?)),
            None => None,
        };
        Ok(Prepared {
            wanted,
            made,
            round_count: said.round_count,
            query_count: count,
            params: params.collect::<Result<_, Error>>()?,
            window: self.windows.get(&self.gpu, wanted.window())?,
            sort: Sort::with_variant(&self.gpu, sort_variant(&self.gpu)?)?,
            is_sorted: count as usize >= SORTED && asked.room.boxes >= SORTED as u64 && !batch.is_in_order,
            queries: bind(batch.queries, batch.bytes()),
            given: batch.askers.and_then(|askers| bind(askers, bytes::<Asker>(count))),
            asked,
            buffers,
            worlds,
        })
    }

    /// Returns what the kernels of all rounds are told of a batch, and of what is made of it.
    fn said<Q: GpuQuery>(&self, batch: &GpuBatch<'_, Q>, wanted: Wanted, rounds: u32) -> QueryParams {
        let count = batch.query_count;
        let words = Q::MADE.map_or(words_of::<Q>(), Made::words);
        QueryParams {
            query_count: count,
            words,
            most: wanted.most(),
            parts: count * words,
            part_count: Q::MADE.map_or(batch.half_space_count, |made| count * made.parts()),
            rule: self.filters.filters().rule.code(),
            round_count: rounds + 1,
            vertices_per_pair: batch.vertices_per_pair,
            ..QueryParams::zeroed()
        }
    }

    /// Returns the room that a recording takes.
    fn room_of<Q: GpuQuery>(
        &self,
        batch: &GpuBatch<'_, Q>,
        wanted: Wanted,
        rounds: u32,
        numbers_worlds: bool,
    ) -> Result<QueryRoom, Error> {
        let queries = u64::from(batch.query_count);
        let room = QueryRoom {
            queries,
            words: Q::MADE.map_or(0, |made| queries * u64::from(made.words() + 4 * made.parts())),
            askers: if numbers_worlds { queries } else { 0 },
            stays: queries,
            rounds: u64::from(wanted.phases() * (rounds + 1)),
            ..QueryRoom::default()
        };
        let room = match wanted {
            Wanted::Rows(_, k) => QueryRoom { ranked: queries, rows: queries * u64::from(k), ..room },
            Wanted::Any => QueryRoom { lists: queries, ..room },
            Wanted::Lists(_, window) => {
                // Of more lists none are kept: they are looked for twice.
                let short = if queries <= self.most_kept() as u64 { queries } else { 0 };
                QueryRoom { lists: queries, short, pairs: window.capacity.into(), ..room }
            }
        };
        let (limit, available) = limit_name(&self.gpu.device().limits());
        let given = [("queries", batch.bytes()), ("askers", bytes::<Asker>(batch.query_count))];
        let given = given.into_iter().take(if batch.askers.is_some() { 2 } else { 1 });
        match given.chain(QueryBuffers::rows(&room)).find(|(_, bytes)| *bytes > available) {
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

/// Returns the handles of lists.
pub(super) fn lists(buffers: &QueryBuffers, capacity: u32) -> GpuLists {
    GpuLists {
        offsets: buffers.ends.raw().clone(),
        answers: buffers.pairs.raw().clone(),
        status: buffers.status.raw().clone(),
        header: buffers.header.raw().clone(),
        arguments: buffers.arguments.raw().clone(),
        capacity,
    }
}

fn answers(buffers: &QueryBuffers, answers: &wgpu::Buffer) -> GpuAnswers {
    GpuAnswers { answers: answers.clone(), status: buffers.status.raw().clone(), header: buffers.header.raw().clone() }
}
