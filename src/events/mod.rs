//! What began and what ended from one step to the next: [`Events`].
//!
//! | file | does |
//! |---|---|
//! | `step` | what a caller says of a step ([`Step`]), and its check |
//! | `compare` | two ascending lists of pairs, compared on all threads |
//! | `edit` | the list of a step made of the last one by what changed |
//! | `names` | the last list by the names of this step, where boxes were renamed |
//! | `stream` | the events of a step in pieces, without a list of the last one |
//! | `steps` | [`Steps`](steps::Steps): the last list, which the list of a step is compared with |
//!
//! The list of the last step is kept as it was found. Whatever has changed since (boxes, filters, options, their number), the
//! comparison of two lists is right; how an engine came by a list does not matter here.

mod compare;
mod edit;
mod names;
mod step;
pub(crate) mod steps;
pub(crate) mod stream;

pub use step::{Identity, Step};
#[cfg(feature = "gpu")]
pub(crate) use step::{OwnSaid, Said};
pub use stream::EventPiece;

use crate::{Pair, Report};

/// The events of a step, and its pairs: what [`find_events`](crate::Engine::find_events) returns. All lists are ascending.
///
/// The pairs of a step are those that a search of its boxes finds, filters and included pairs counted in, as if nobody slept:
/// a pair does not end because its boxes fall asleep, nor begin because one wakes.
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
    /// `[pair_count]` of each of `pairs`: its place in `pairs` of the last step, or [`CREATED`](Self::CREATED). What a solver
    /// keeps in a list of its own, beside `pairs`, it finds there again. Empty where the step asks for
    /// [changes alone](Step::changes_only).
    pub before: Vec<u64>,
    /// The pairs of this step that the last one did not have.
    pub created: Vec<Pair>,
    /// The pairs of the last step that this one does not have, by their indices in the last step.
    pub lost: Vec<Pair>,
    /// The pairs of both steps, without those of which neither box is awake: each of the two is asleep or fixed. Empty where the
    /// step asks for [changes alone](Step::changes_only).
    pub persisting: Vec<Pair>,
    /// Counts.
    pub report: StepReport,
}

/// Counts of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct StepReport {
    /// Boxes of the step.
    pub box_count: u32,
    /// Boxes with a NaN or with `min > max`, once they are grown by their margins; such boxes pair with nothing.
    pub invalid_count: u32,
    /// The indices of the first invalid boxes, ascending, at most [`Report::INVALID_LISTED`](crate::Report::INVALID_LISTED).
    pub first_invalid: Vec<u32>,
    /// Pairs of the step.
    pub pair_count: u64,
    /// Pairs that the last step did not have.
    pub created_count: u64,
    /// Pairs that the last step had and this one has not.
    pub lost_count: u64,
    /// Pairs of both steps, also of two boxes that sleep or are fixed, which [`Events::persisting`] leaves out.
    pub persisting_count: u64,
    /// How the pairs were found.
    pub work: StepWork,
}

/// What was done to find the pairs of a step. On a GPU all boxes are searched in every step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct StepWork {
    /// Whether all boxes were searched.
    pub searched: bool,
    /// Why all boxes were searched; `None` where they were not. Where an epoch [began](Self::began_epoch), why there was none to go on
    /// with; otherwise why none began, so that the next step is searched too.
    pub reason: Option<SearchReason>,
    /// Whether an epoch began: boxes that are grown outward were searched, and their pairs are kept for the steps that follow.
    pub began_epoch: bool,
    /// Boxes that were not where they were in the last step. Where all boxes were searched, this was not looked at, and is zero.
    pub moved_count: u32,
    /// Boxes that left their grown boxes in this step, and asked a tree anew.
    pub escaped_count: u32,
    /// Boxes that have left since the epoch began.
    pub escaped_in_epoch: u32,
    /// Pairs of grown boxes that are kept.
    pub kept_pair_count: u64,
    /// Whether of these only the pairs of boxes that moved were looked at, and the list of the last step was changed in place: where few
    /// boxes moved.
    pub edited: bool,
}

/// Why all boxes of a step were searched, in place of the boxes that moved. The limits are those of the CPU engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SearchReason {
    /// The engine on a GPU, and streamed steps of both engines: every step is a search.
    Always,
    /// There are fewer than 1,024 boxes.
    FewBoxes,
    /// There is no last step: it is the first, the last one was refused, or steps were forgotten.
    FirstStep,
    /// The number of boxes is not that of the last step, and no pairs were kept from it.
    BoxCountChanged,
    /// All filters were set, or worlds changed. Use [`change_filters`](crate::Engine::change_filters) for other lists.
    FiltersChanged,
    /// More than a sixteenth of the boxes moved by more than a 32nd of the usual edge in this step. Where they stay within a distance for several
    /// steps, set [`Options::step_margin`](crate::Options::step_margin) to it.
    TooFast,
    /// More than an eighth of the boxes left their grown boxes. After an epoch of less than four steps, the engine waits for some steps, at most 64.
    ManyEscaped,
    /// Grown boxes have too many pairs to keep, as small boxes between large ones. The engine waits for some steps, at most 64.
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
            Self::ManyEscaped => "many_escaped",
            Self::TooManyPairs => "too_many_pairs",
        }
    }
}

impl StepWork {
    /// All boxes were searched as they are, and nothing else was done.
    pub(crate) const SEARCHED: Self = Self {
        searched: true,
        reason: Some(SearchReason::Always),
        began_epoch: false,
        moved_count: 0,
        escaped_count: 0,
        escaped_in_epoch: 0,
        kept_pair_count: 0,
        edited: false,
    };
}

impl StepReport {
    /// Makes the report on a step whose boxes were all searched, before events are counted. The list of invalid boxes moves.
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
    /// Stands for the place of a pair that the last step did not have.
    pub const CREATED: u64 = u64::MAX;
}
