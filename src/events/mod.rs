//! The pairs that are created and lost from one step to the next: [`Events`].
//!
//! | file | does |
//! |---|---|
//! | `step` | the input of a step ([`Step`]), and its check |
//! | `compare` | compares two ascending lists of pairs on all threads |
//! | `edit` | changes the list of the last step in place |
//! | `places` | the places of pairs in the list of the last step ([`Places`]) |
//! | `names` | renames the pairs of the last list to the indices of this step |
//! | `stream` | the events of a step in pieces, without the list of pairs of the last step |
//! | `steps` | [`Steps`](steps::Steps): the last list, and the comparison with the next one |
//!
//! Events are the difference of two lists of pairs. So they are correct after any change of boxes, filters, options or
//! box count, and with any engine.

mod compare;
mod edit;
mod names;
mod places;
mod step;
pub(crate) mod steps;
pub(crate) mod stream;

pub use places::Places;
pub use step::{Identity, Step};
#[cfg(feature = "gpu")]
pub(crate) use step::{OwnedStepSpec, StepSpec};
pub use stream::EventPiece;

use crate::{Pair, Report};

/// The events of a step and its pairs: the result of [`find_events`](crate::Engine::find_events). All lists are
/// ascending.
///
/// The pairs of a step are the pairs that a search of its boxes finds, with filters and included pairs. Sleeping flags
/// are ignored: no pair ends when its boxes fall asleep, and none begins when a box wakes.
///
/// `==` also compares `report.work`, which differs between engines. To compare results, compare the lists.
///
/// ```
/// use broadsweep::{Aabb, Options, Pair, cpu};
///
/// let cube = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
/// let mut engine = cpu::BroadPhase::new(Options::default())?;
/// engine.find_events(&[cube(0.0), cube(0.5), cube(9.0)])?;
/// let events = engine.find_events(&[cube(0.0), cube(5.0), cube(-0.5)])?;
/// assert_eq!(events.created, [Pair { a: 0, b: 2 }]);
/// assert_eq!(events.lost, [Pair { a: 0, b: 1 }]);
/// assert!(events.persisting.is_empty());
/// # Ok::<(), broadsweep::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Events {
    /// All pairs of this step.
    pub pairs: Vec<Pair>,
    /// `[pair_count]` the place of each pair in `pairs` of the last successful step; none for a created pair.
    /// [`carry`](Self::carry) uses it to keep values of a solver. Empty if the step requests [changes
    /// only](Step::changes_only).
    pub before: Places,
    /// The pairs of this step that are not in the last step.
    pub created: Vec<Pair>,
    /// The pairs of the last step that are not in this step, with the box indices of the last step.
    pub lost: Vec<Pair>,
    /// The pairs of both steps with at least one awake box. An awake box is neither asleep nor fixed. Empty if the step
    /// requests [changes only](Step::changes_only).
    pub persisting: Vec<Pair>,
    /// Counts of the step.
    pub report: StepReport,
}

/// Counts of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct StepReport {
    /// Boxes of the step.
    pub box_count: u32,
    /// Boxes with a NaN or with `min > max`, after padding by their margins. Such boxes overlap nothing.
    pub invalid_count: u32,
    /// The indices of the first invalid boxes, ascending, at most
    /// [`Report::INVALID_LISTED`](crate::Report::INVALID_LISTED).
    pub first_invalid: Vec<u32>,
    /// Pairs of the step.
    pub pair_count: u64,
    /// Pairs that are not in the last step.
    pub created_count: u64,
    /// Pairs of the last step that are not in this step.
    pub lost_count: u64,
    /// Pairs of both steps, including pairs of two boxes that sleep or are fixed, which [`Events::persisting`] omits.
    pub persisting_count: u64,
    /// The work of the step.
    pub work: StepWork,
}

/// The work that found the pairs of a step. On a GPU every step searches all boxes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct StepWork {
    /// True if all boxes were searched.
    pub searched: bool,
    /// The reason why all boxes were searched; `None` if they were not. If an epoch [began](Self::began_epoch), this is
    /// the reason why the last epoch could not continue. If none began, this is the reason why none began, and the
    /// next step is a search too.
    pub reason: Option<SearchReason>,
    /// True if an epoch began: padded boxes were searched, and their pairs are cached for later steps.
    pub began_epoch: bool,
    /// Boxes that moved since the last step. 0 if all boxes were searched, since motion is not counted then.
    pub moved_count: u32,
    /// Boxes that left their padded boxes in this step, and queried a tree again.
    pub left_padding_count: u32,
    /// Boxes that left their padded boxes since the epoch began.
    pub left_padding_in_epoch: u32,
    /// Cached pairs of padded boxes.
    pub cached_pair_count: u64,
    /// True if only the cached pairs of moved boxes were tested, and the list of the last step was changed in place.
    /// This is the case if few boxes moved.
    pub edited: bool,
}

/// The reason why a step searched all boxes instead of the moved boxes. The limits in the descriptions are those of the
/// CPU engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SearchReason {
    /// Every step is a search: on a GPU, and in streamed steps of both engines.
    Always,
    /// There are fewer than 1,024 boxes.
    FewBoxes,
    /// There is no last step: this is the first step, the last step failed, or steps were forgotten.
    FirstStep,
    /// The box count differs from the last step, and no pairs are cached.
    BoxCountChanged,
    /// The filters were replaced, or worlds changed. Changes of other lists by
    /// [`change_filters`](crate::Engine::change_filters) cause no search.
    FiltersChanged,
    /// More than a sixteenth of the boxes moved by more than a 32nd of the usual edge in this step. If boxes stay
    /// within a distance for several steps, set [`Options::step_margin`](crate::Options::step_margin) to that distance.
    TooFast,
    /// More than an eighth of the boxes left their padded boxes. After an epoch of less than four steps, the engine
    /// begins no epoch for some steps, at most 64.
    ManyLeftPadding,
    /// Padded boxes have too many pairs to cache, for example small boxes between large boxes. The engine begins no
    /// epoch for some steps, at most 64.
    TooManyPairs,
}

impl SearchReason {
    /// Returns the name in lower case, with underscores: `too_fast`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::FewBoxes => "few_boxes",
            Self::FirstStep => "first_step",
            Self::BoxCountChanged => "box_count_changed",
            Self::FiltersChanged => "filters_changed",
            Self::TooFast => "too_fast",
            Self::ManyLeftPadding => "many_left_padding",
            Self::TooManyPairs => "too_many_pairs",
        }
    }
}

impl StepWork {
    /// The work of a search of all boxes.
    pub(crate) const SEARCHED: Self = Self {
        searched: true,
        reason: Some(SearchReason::Always),
        began_epoch: false,
        moved_count: 0,
        left_padding_count: 0,
        left_padding_in_epoch: 0,
        cached_pair_count: 0,
        edited: false,
    };
}

impl StepReport {
    /// Creates the report of a step that searched all boxes, before events are counted. Moves the list of invalid boxes
    /// out of `report`.
    pub(crate) fn of_search(report: &mut Report) -> Self {
        Self {
            box_count: report.box_count,
            invalid_count: report.invalid_count,
            first_invalid: std::mem::take(&mut report.first_invalid),
            work: StepWork::SEARCHED,
            ..Self::default()
        }
    }
}

impl Events {
    /// Returns a value per pair: the value of the same pair in `last`, or `new` for a created pair. `last` has a value
    /// per pair of the last step. A solver can carry its impulses in this way. If the step lists no `before`, all
    /// values are `new`. If `last` is from another step, values belong to other pairs, or are `new` if `last` is too
    /// short.
    ///
    /// If boxes were [renamed](Step::rebased), `a` and `b` of a pair may be swapped: negate values that point from `a`
    /// to `b`.
    ///
    /// ```
    /// use broadsweep::{Aabb, Options, Step, cpu};
    ///
    /// let cube = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
    /// let mut engine = cpu::BroadPhase::new(Options::default())?;
    /// let events = engine.find_events(&[cube(0.0), cube(0.5)])?;
    /// let mut impulses = events.carry(&[], 0.0);
    /// impulses[0] = 7.0;
    /// // The boxes are in another order, and there is a third one.
    /// let boxes = [cube(0.5), cube(0.9), cube(0.0)];
    /// let events = engine.find_events(Step::new(&boxes).rebased(&[1, Step::NEW, 0]))?;
    /// impulses = events.carry(&impulses, 0.0);
    /// assert_eq!(impulses, [0.0, 7.0, 0.0]);
    /// # Ok::<(), broadsweep::Error>(())
    /// ```
    pub fn carry<T: Clone>(&self, last: &[T], new: T) -> Vec<T> {
        let value = |place: Option<u64>| place.and_then(|place| last.get(place as usize)).unwrap_or(&new).clone();
        let mut values: Vec<T> = self.before.iter().map(value).collect();
        values.resize(self.pairs.len(), new.clone());
        values
    }
}
