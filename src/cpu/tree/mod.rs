//! The tree of boxes on the CPU: queries on all cores.
//!
//! | file | does |
//! |---|---|
//! | `order`, `sort_group` | sorts the boxes: by world, then by halves |
//! | `levels` | builds the nodes: bounds of eight children each, without pointers |
//! | `node` | tests eight children at once; rounding never excludes a child |
//! | `walk` | walks one query through the tree, the nearest nodes first if the order matters |
//! | `ray_packet` | walks several rays with nearly the same direction together |
//! | `point_packet` | finds the boxes nearest to several adjacent points |
//! | `pauses` | decides when packets are tried again after they did not save time |
//! | `visit` | the visitor of each kind of query; the last test of a box is exact |
//! | `worlds` | the leaves of each world |
//! | `batch` | answers the queries of a batch on all threads, along a Hilbert curve ([`hilbert`]) in a [`cube`] |
//! | `join` | joins two sets: the boxes of one set query a tree of the other |

mod batch;
mod cube;
mod hilbert;
pub(super) mod join;
mod levels;
mod node;
mod order;
mod pauses;
mod point_packet;
mod ray_packet;
mod scratch;
mod sort_group;
mod visit;
mod walk;
mod worlds;

use self::batch::TreeBatch;
use self::cube::Cube;
use self::levels::Levels;
use self::order::Order;
use self::worlds::Worlds;
use crate::cpu::call;
use crate::filters::CheckedFilters;
use crate::queries::{Entry, HalfSpaces, Surface, check_k};
use crate::{
    Aabb, Answers, Attribute, Batch, Cast, Error, Filters, Hit, Lists, Near, NearestQuery, QueryFilters, Report, Shape,
    TreeReport,
};

/// A tree of boxes, which is built once and queried many times. Queries find the hits of rays, the boxes that touch a
/// shape, or the nearest boxes.
///
/// Answers equal the answers of a loop over all boxes in real arithmetic on the input `f32`, bit for bit. No box is
/// missed or reported in excess, and ties go to the smaller index. Oriented boxes, capsules, convex shapes and moving
/// round shapes miss no box either, but may report boxes in excess; see their documentation. The tree uses the threads
/// of the caller's `rayon` pool. Answers do not depend on the thread count.
///
/// Memory: the tree has 32 bytes per box, and retains 16 more for the next build (32 with worlds). Margins take 24
/// bytes per box. Queries take their answers, and 16 bytes per query during the call. For `k` first answers, each
/// thread takes about 100 bytes times `k` in addition; for nearest boxes 2 KB times `k`, at most 6 MB.
///
/// ```
/// use broadsweep::query::{NearestQuery, Sphere};
/// use broadsweep::{Aabb, Ray, cpu};
///
/// let boxes = [Aabb::new([1.0; 3], [2.0; 3]), Aabb::new([4.0; 3], [5.0; 3])];
/// let mut tree = cpu::Tree::new();
/// tree.build(&boxes)?;
/// let hits = tree.nearest_hits(&[Ray::new([0.0; 3], [1.0; 3]), Ray::new([0.0; 3], [-1.0; 3])])?;
/// assert_eq!((hits.answers[0].index, hits.answers[0].t), (0, 1.0));
/// assert!(!hits.answers[1].is_hit());
/// let touching = tree.overlaps(&[Sphere { center: [3.0; 3], radius: 2.0 }])?;
/// assert_eq!(touching[0], [0, 1]);
/// let near = tree.nearest(&[NearestQuery::new([0.0; 3])], 1)?;
/// assert_eq!((near[0][0].index, near[0][0].squared_distance), (0, 3.0));
/// # Ok::<(), broadsweep::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Tree {
    filters: CheckedFilters,
    /// A cube that contains the starts of most queries. A curve through it orders the queries.
    cube: Cube,
    order: Order,
    /// `[box_count]` the boxes in the order of the leaves.
    ids: Vec<u32>,
    levels: Levels,
    worlds: Worlds,
    /// The prepared boxes, if the filters change boxes.
    prepared: Vec<Aabb>,
    is_built: bool,
    built_surface: Surface,
    report: TreeReport,
}

impl Tree {
    /// Creates a tree that is not built, without filters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the filters of the boxes. Groups, masks, bodies and spheres take effect with the next query. Worlds and
    /// margins take effect with the next [`build`](Self::build); after a change of these, the tree is not built until
    /// then.
    ///
    /// A tree compares no two boxes, so lists of pairs, and fixed or sleeping flags, are ignored.
    ///
    /// Half-spaces are answers like boxes. Rays, moving boxes, points, boxes, spheres and capsules touch a half-space
    /// if they have a point in common, decided exactly. For a moving round shape, the time may be too early by
    /// rounding, never too late. For an oriented box, a half-space may be reported in excess by rounding. A
    /// [`Convex`](crate::Convex) touches a half-space unless one of its own half-spaces is opposite to it, and both
    /// have no common point. Half-spaces and boxes are ordered by their exact time or distance, then by index. Each
    /// query is tested against each half-space. A change of the boxes that stand for half-spaces takes effect with the
    /// next [`build`](Self::build).
    ///
    /// # Errors
    /// [`Error::BadFilter`] for an invalid value, and for an owner region, which queries do not support;
    /// [`Error::FilterLength`] if the tree stays built and the filters do not fit its boxes; [`Error::OutOfMemory`].
    /// After an error the old filters stay.
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        filters.check_for_queries()?;
        let mut checked = CheckedFilters::new(filters)?;
        let (old, new) = (self.filters.filters(), checked.filters());
        let stays = old.world == new.world && old.margin == new.margin && self.filters.has_half_spaces_of(&checked);
        if stays && !self.ids.is_empty() {
            checked.fit(self.ids.len())?;
        }
        self.filters = checked;
        if !stays {
            self.clear();
        }
        Ok(())
    }

    /// Returns the filters in use.
    pub fn filters(&self) -> &Filters {
        self.filters.filters()
    }

    /// Changes one list of the filters from box `first` on. After a change of worlds or margins, the tree must be built
    /// again.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if the list is too short, a margin is negative or not finite, or a sphere is invalid. After
    /// an error nothing is changed.
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        self.filters.change(first, values)?;
        if matches!(values, Attribute::World(_) | Attribute::Margin(_)) {
            self.clear();
        }
        Ok(())
    }

    /// Empties the tree, and retains its memory for the next build.
    fn clear(&mut self) {
        self.is_built = false;
        self.ids.clear();
        self.worlds = Worlds::default();
        self.report = TreeReport::default();
    }

    /// Builds the tree of these boxes. Answers have the indices of these boxes.
    ///
    /// # Errors
    /// [`Error::FilterLength`] and [`Error::BadFilter`] if the filters do not fit the boxes; [`Error::TooManyBoxes`]
    /// beyond 2³² − 2 boxes. After an error the tree is not built.
    pub fn build(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        self.clear();
        self.filters.fit(boxes.len())?;
        let limit = "the limit of 2^32 - 2 indices, at 4 bytes each,";
        let box_count = call::count_at_most(boxes.len(), QueryFilters::NO_BOX - 1, "ids", limit)?;
        rayon::join(|| self.build_of(boxes), || ());
        self.is_built = true;
        self.built_surface = self.levels.surface;
        self.report_on(box_count);
        Ok(&self.report)
    }

    fn build_of(&mut self, boxes: &[Aabb]) {
        let Self { filters, cube, order, ids, levels, prepared, .. } = self;
        let boxes = filters.filters().boxes_of_tree(boxes, prepared);
        *cube = Cube::around(boxes);
        let has_giants = order.sort(boxes, filters.worlds(), ids);
        levels.fill(boxes, ids, has_giants);
        self.worlds.find(ids, &filters.filters().world, has_giants);
    }

    /// Fits the tree to moved boxes. The box count and the order must be the same as at the build. A refit takes a
    /// fraction of the time of a build. Answers are exact whatever the motion. After far motions,
    /// [`growth`](TreeReport::growth) shows that a build would make queries faster. A box may become invalid or valid.
    ///
    /// # Errors
    /// [`Error::NotBuilt`] if there was no build, the last build failed, or worlds or margins of the filters changed
    /// since. [`Error::OtherTree`] if the build had another box count; [`Error::FilterLength`] and [`Error::BadFilter`]
    /// if the filters do not fit the boxes. After an error the tree is unchanged.
    pub fn refit(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        if !self.is_built {
            return Err(Error::NotBuilt);
        }
        if boxes.len() != self.ids.len() {
            return Err(Error::OtherTree { built: self.ids.len() as u64, box_count: boxes.len() as u64 });
        }
        self.filters.fit(boxes.len())?;
        let Self { filters, ids, levels, prepared, .. } = self;
        rayon::join(|| levels.refill(filters.filters().boxes_of_tree(boxes, prepared), ids), || ());
        self.report_on(boxes.len() as u32);
        Ok(&self.report)
    }

    fn report_on(&mut self, box_count: u32) {
        let is_box = |id: u32| self.filters.half_space(id).is_none();
        let invalid = self.levels.invalid(&self.ids, is_box, Report::INVALID_LISTED);
        let growth = self.built_surface.growth(self.levels.surface);
        let (invalid_count, first_invalid) = invalid;
        self.report = TreeReport { box_count, invalid_count, first_invalid, growth, bytes: 0 };
        self.report.bytes = self.memory_bytes();
    }

    /// Returns the report on the last build or refit.
    pub fn report(&self) -> &TreeReport {
        &self.report
    }

    /// Returns the bytes of allocated memory, without the filters.
    pub fn memory_bytes(&self) -> u64 {
        let ids = self.ids.capacity() * size_of::<u32>();
        let prepared = self.prepared.capacity() * size_of::<Aabb>();
        (ids + prepared + self.worlds.bytes() + self.levels.bytes() + self.order.bytes()) as u64
    }

    /// Returns the half-spaces of the filters, which are not in the tree. If there are any, the boxes are prepared.
    fn half_spaces(&self) -> HalfSpaces<'_> {
        HalfSpaces::new(&self.filters, &self.prepared)
    }

    /// Finds the first box that each path hits: by `t`, then by index.
    ///
    /// # Errors
    /// [`Error::NotBuilt`], [`Error::QueryFilterLength`], [`Error::OutOfMemory`]; [`Error::BadFilter`] if the sphere of
    /// a query is invalid.
    pub fn nearest_hits<'a, C: Cast + 'a>(&self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<Hit>, Error> {
        let batch = casts.into();
        let mut answers = TreeBatch::new(self, batch)?.nearest_hits()?;
        self.half_spaces().nearest_hits(batch, &mut answers);
        Ok(answers)
    }

    /// Finds the first `k` boxes that each path hits: by `t`, then by index.
    ///
    /// # Errors
    /// The errors of [`nearest_hits`](Self::nearest_hits); [`Error::BadOption`] if `k` is 0.
    pub fn first_hits<'a, C: Cast + 'a>(&self, casts: impl Into<Batch<'a, C>>, k: usize) -> Result<Lists<Hit>, Error> {
        let batch = casts.into();
        let tree_batch = TreeBatch::new(self, batch)?;
        check_k(k)?;
        let mut lists = tree_batch.lists(k, |batch, scratch, i, cast, out| {
            let Some(path) = batch.path(cast) else { return Ok(false) };
            batch.first_hits(i, &path, scratch);
            let hit = |(entry, index): &(Entry, u32)| Hit { index: *index, t: path.time(entry) };
            visit::extend(out, scratch.ranking.first.iter().map(hit)).map(|()| true)
        })?;
        self.half_spaces().first_hits(batch, k, &mut lists)?;
        Ok(lists)
    }

    /// Finds whether each path hits a box.
    ///
    /// # Errors
    /// The errors of [`nearest_hits`](Self::nearest_hits).
    pub fn any_hits<'a, C: Cast + 'a>(&self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<bool>, Error> {
        let batch = casts.into();
        let mut answers = TreeBatch::new(self, batch)?.any_hits()?;
        self.half_spaces().any_hits(batch, &mut answers);
        Ok(answers)
    }

    /// Finds all boxes that each path hits, ascending by index.
    ///
    /// # Errors
    /// The errors of [`nearest_hits`](Self::nearest_hits).
    pub fn all_hits<'a, C: Cast + 'a>(&self, casts: impl Into<Batch<'a, C>>) -> Result<Lists<Hit>, Error> {
        let batch = casts.into();
        let mut lists = TreeBatch::new(self, batch)?.lists(0, |batch, scratch, i, cast, out| {
            let Some(path) = batch.path(cast) else { return Ok(false) };
            let (first, mut result) = (out.len(), Ok(()));
            batch.each_hit(i, &path, scratch, |entry, index| {
                result = visit::push(out, Hit { index, t: path.time(entry) });
                result.is_ok()
            });
            result?;
            out[first..].sort_unstable_by_key(|hit| hit.index);
            Ok(true)
        })?;
        self.half_spaces().all_hits(batch, &mut lists)?;
        Ok(lists)
    }

    /// Finds all boxes that touch each shape, ascending by index. For points, boxes and spheres, the answers are exact.
    /// For other shapes, no box is missed, and the documentation of the shape specifies the boxes that may be reported
    /// in excess.
    ///
    /// # Errors
    /// The errors of [`nearest_hits`](Self::nearest_hits).
    pub fn overlaps<'a, S: Shape + 'a>(&self, shapes: impl Into<Batch<'a, S>>) -> Result<Lists<u32>, Error> {
        let batch = shapes.into();
        let mut lists = TreeBatch::new(self, batch)?.lists(0, |batch, scratch, i, shape, out| {
            let Some(region) = shape.region() else { return Ok(false) };
            let first = out.len();
            batch.touching(i, region, scratch, out)?;
            out[first..].sort_unstable();
            Ok(true)
        })?;
        self.half_spaces().overlaps(batch, &mut lists)?;
        Ok(lists)
    }

    /// Finds the `k` boxes that are nearest to each point: by distance, then by index. A box that contains the point is
    /// at distance 0.
    ///
    /// # Errors
    /// The errors of [`first_hits`](Self::first_hits).
    pub fn nearest<'a>(&self, points: impl Into<Batch<'a, NearestQuery>>, k: usize) -> Result<Lists<Near>, Error> {
        let batch = points.into();
        let tree_batch = TreeBatch::new(self, batch)?;
        check_k(k)?;
        let mut lists = tree_batch.nearest(k)?;
        self.half_spaces().nearest(batch, k, &mut lists)?;
        Ok(lists)
    }
}
