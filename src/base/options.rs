//! The options of a call.

use crate::Error;
use crate::base::constants::*;
use crate::base::setters::setters;

/// [`Options::all_pairs_up_to`] of a discrete GPU. On an H100, with timestamps, a test of all pairs takes 0.075 ms for
/// 9,000 boxes and 0.187 ms for 18,000 boxes. A sweep takes 0.381 ms in this range.
#[cfg(feature = "gpu")]
pub(crate) const ALL_PAIRS_DISCRETE: u32 = 12_288;
/// [`Options::all_pairs_up_to`] of an integrated or virtual GPU: a prediction.
#[cfg(feature = "gpu")]
pub(crate) const ALL_PAIRS_INTEGRATED: u32 = 4_096;
/// [`Options::all_pairs_up_to`] of any other adapter, such as a software driver.
pub(crate) const ALL_PAIRS_ELSEWHERE: u32 = 2_560;
/// [`Options::all_pairs_up_to`] of the CPU engine, measured.
pub(crate) const ALL_PAIRS_CPU: u32 = 1_024;

/// The options of a search. Options change the time, the memory and the order of pairs, never the *set* of pairs.
///
/// ```
/// use broadsweep::{CellSize, Options, PairOrder, SweepAxis};
///
/// const OPTIONS: Options = Options::new().with_axis(SweepAxis::X).with_order(PairOrder::Canonical);
/// assert_eq!(OPTIONS.cell_size, CellSize::Auto);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Options {
    /// The direction along which the boxes are sorted and swept.
    pub axis: SweepAxis,
    /// The edge of a cell of the grid across the axis.
    pub cell_size: CellSize,
    /// The largest box count for which every pair is tested without a grid. This takes two dispatches, and gives pairs
    /// in canonical order. Cost: `n (n - 1) / 2` tests, and one bit of GPU memory per test. If `candidate_limit` or
    /// `memory_budget` does not allow these tests, the boxes are swept. In a
    /// [join](crate::cpu::BroadPhase::find_pairs_between), the boxes of both sets count. With 0, boxes are always
    /// swept; more than 32,768 means 32,768.
    ///
    /// Default: `None`, the threshold of the device: 12,288 on a discrete GPU, 4,096 on an integrated or virtual GPU,
    /// 2,560 on any other adapter, and 1,024 for the CPU engine. Up to this count, a test of all pairs is about as fast
    /// as a sweep, or faster, on this kind of device. [`Report::all_pairs_up_to`](crate::Report::all_pairs_up_to) is
    /// the value in use, and `options()` of an engine returns it.
    pub all_pairs_up_to: Option<u32>,
    /// The order of the list of pairs. Default: [`PairOrder::Sweep`].
    pub order: PairOrder,
    /// The most GPU memory to use, in bytes. With `None`, only the limits of the device apply. With less memory, lists
    /// are read in more, smaller pieces. If the boxes do not fit, blocking calls search in several passes, and other
    /// calls return an error. No pair is lost.
    pub memory_budget: Option<u64>,
    /// The most candidates (box pairs to test exactly) of one call. With more candidates, the call returns
    /// [`Error::TooManyCandidates`](crate::Error::TooManyCandidates) before any test, or in a tree join
    /// ([`Report::tree_join`](crate::Report::tree_join)) after some tests. So no input can occupy the GPU for minutes.
    /// Default: 2⁴⁰. Values are clamped to 2⁴², and on a software adapter to 8 billion, since its drivers end long
    /// loops. With several [passes](crate::Report::passes), the limit applies to each pass, and the error may come
    /// after successful passes.
    pub candidate_limit: u64,
    /// A hint for the CPU engine: the margin by which boxes are padded while their pairs are cached [from step to
    /// step](crate::cpu::BroadPhase::find_events). It has the units of the input, and must be positive and finite. If
    /// you know the speed of the boxes, set the distance that boxes move in about four steps. A margin of m edges
    /// multiplies the cached pairs by about (1 + 2m)³, so margins up to half an edge are useful. With an explicit
    /// margin, pairs of fast boxes are cached too, unless there are too many such pairs. A change takes effect when
    /// boxes are padded the next time. The GPU engine checks the value but ignores it, since each step is a search.
    /// Default: `None`. The engine then derives a margin from a sample of speeds: a twentieth to a quarter of the usual
    /// edge of a box. If the boxes are too fast, it caches no pairs.
    pub step_margin: Option<f32>,
    /// The vertices that a renderer draws per pair: `vertex_count` of the indirect draw arguments of a list on the GPU.
    /// Default: 24, the twelve edges of a box as lines.
    pub vertices_per_pair: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

setters! {
    const Options {
        with_axis: axis: SweepAxis,
        with_cell_size: cell_size: CellSize,
        with_all_pairs_up_to: all_pairs_up_to: Option<u32>,
        with_order: order: PairOrder,
        with_memory_budget: memory_budget: Option<u64>,
        with_candidate_limit: candidate_limit: u64,
        with_step_margin: step_margin: Option<f32>,
        with_vertices_per_pair: vertices_per_pair: u32,
    }
}

impl Options {
    /// Returns the defaults: the same as [`Options::default`], in constants too.
    pub const fn new() -> Self {
        Self {
            axis: SweepAxis::Auto,
            cell_size: CellSize::Auto,
            all_pairs_up_to: None,
            order: PairOrder::Sweep,
            memory_budget: None,
            candidate_limit: 1 << 40,
            step_margin: None,
            vertices_per_pair: 24,
        }
    }

    /// Returns the effective candidate limit: `candidate_limit`, but at most 2⁴², since the count of tiles of
    /// the sweep would not fit 32 bits otherwise.
    pub(crate) fn effective_candidate_limit(&self) -> u64 {
        self.candidate_limit.min(1 << 42)
    }

    /// Returns `true` if every pair of this many boxes is tested when the memory suffices.
    pub(crate) fn tests_all_pairs(&self, box_count: u32) -> bool {
        let tests = u64::from(box_count) * u64::from(box_count.saturating_sub(1)) / 2;
        let most = self.most_in_all_pairs();
        most > 0 && box_count <= most && tests <= self.effective_candidate_limit()
    }

    /// Returns the largest box count for which every pair may be tested.
    pub(crate) fn most_in_all_pairs(&self) -> u32 {
        self.all_pairs_up_to.unwrap_or(ALL_PAIRS_ELSEWHERE).min(SMALL_MOST)
    }

    /// Returns the options that an engine uses: `all_pairs_up_to` replaces `None`.
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub(crate) fn checked(self, all_pairs_up_to: u32) -> Result<Self, Error> {
        let edge = if let CellSize::Fixed(edge) = self.cell_size { Some(edge) } else { None };
        for (option, length) in [("CellSize::Fixed", edge), ("step_margin", self.step_margin)] {
            if let Some(length) = length
                && !(length > 0.0 && length.is_finite())
            {
                let expected = "positive and finite";
                return Err(Error::BadOption { option, value: length.to_string(), expected });
            }
        }
        Ok(Self { all_pairs_up_to: self.all_pairs_up_to.or(Some(all_pairs_up_to)), ..self })
    }
}

/// The direction along which the boxes are swept; the grid lies across it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SweepAxis {
    /// The best axis among the principal axis, x, y and z. It has the largest spread of centroids per mean projected
    /// edge, in a sample of 512 boxes.
    #[default]
    Auto,
    /// The eigenvector of the centroid covariance with the largest eigenvalue, as in MuJoCo's `mj_broadphase`, for a
    /// sample of 512 boxes.
    Principal,
    /// The x axis.
    X,
    /// The y axis.
    Y,
    /// The z axis.
    Z,
}

impl SweepAxis {
    const BY_CODE: [Self; 5] = [Self::Auto, Self::Principal, Self::X, Self::Y, Self::Z];

    /// Returns the name of the axis in lower case: `auto`, `principal`, `x`, `y` or `z`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Principal => "principal",
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
        }
    }

    /// Returns the code of the axis in WGSL.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Auto => AXIS_AUTO,
            Self::Principal => AXIS_PRINCIPAL,
            Self::X => AXIS_X,
            Self::Y => AXIS_X + 1,
            Self::Z => AXIS_X + 2,
        }
    }

    pub(crate) fn from_code(code: u32) -> Self {
        Self::BY_CODE.get(code as usize).copied().unwrap_or_default()
    }
}

/// The edge of a grid cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum CellSize {
    /// An edge at which boxes are in about two cells on average, or a larger edge if the boxes are sparse. It is
    /// derived from a sample without its largest boxes. For equal cubes, it is 2.5 times their edge; for boxes of mixed
    /// sizes, more.
    #[default]
    Auto,
    /// The cost model of Li, Lu and He 2003 (USSCD), from the largest edge in a sample of 512 boxes and the density.
    Usscd,
    /// This edge, in the units of the input: positive and finite. If the entries, the (box, cell) incidences, do not
    /// fit the memory, cells are merged two by two until they fit.
    Fixed(f32),
}

impl CellSize {
    /// Returns the code in WGSL, and the fixed edge.
    pub(crate) fn code(self) -> (u32, f32) {
        match self {
            Self::Auto => (CELL_AUTO, 0.0),
            Self::Usscd => (CELL_USSCD, 0.0),
            Self::Fixed(edge) => (CELL_FIXED, edge),
        }
    }
}

/// The order of a list of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PairOrder {
    /// The default. The order of the sweep. It depends only on boxes, options and adapter. If every pair is tested (up
    /// to [`all_pairs_up_to`](Options::all_pairs_up_to) boxes), the order is ascending `(a, b)`; request `Canonical` to
    /// rely on this. A tree join has the order of its queries.
    #[default]
    Sweep,
    /// Ascending `(a, b)`: the same bytes for every axis, cell size, engine and adapter. Cost: a sort, unless every box
    /// was tested against every other box.
    Canonical,
}
