//! The input of a step: [`Step`].

use crate::{Aabb, Error};

/// The boxes of a step, and the identity of each box with a box of the last step. A slice of boxes converts to a step:
/// `boxes.into()`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The boxes.
    pub boxes: &'a [Aabb],
    /// The identity of each box.
    pub identity: Identity<'a>,
    /// True if [`before`](crate::Events::before) and [`persisting`](crate::Events::persisting) are filled.
    pub lists_persisting: bool,
    /// All boxes that moved, if the caller knows them; a hint for the CPU engine: [`Step::moved`].
    pub moved: Option<&'a [u32]>,
    /// True if a stream counts all events before the first piece: [`Step::counts_first`].
    pub counts_first: bool,
}

/// Identifies each box of a step with a box of the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Identity<'a> {
    /// The box with the same index. Boxes beyond the last step's count are new; boxes beyond this step's count are
    /// removed.
    #[default]
    Index,
    /// `[box_count]` generations. Maps a box to the box with the same index if both have the same generation. If they
    /// differ, the box is new, and the earlier box is removed. Then a pair with this index can be lost *and* created.
    /// The comparison uses the last step that had generations. A box beyond the box count of that step has no
    /// generation to compare with: it is the box with the same index in the last step.
    Generations(&'a [u32]),
    /// `[box_count]` the index that each box had in the last step, or [`Step::NEW`]. Indices must be distinct. Boxes of
    /// the last step whose index is not in this list are removed.
    Was(&'a [u32]),
}

impl<'a> Step<'a> {
    /// The element that marks a new box in the list of [`rebased`](Self::rebased): 2³² − 1. It is a plain number, since
    /// lists are uploaded unchanged.
    pub const NEW: u32 = u32::MAX;

    /// Creates a step of these boxes. Each is the box with the same index in the last step.
    pub fn new(boxes: &'a [Aabb]) -> Self {
        Self { boxes, identity: Identity::Index, lists_persisting: true, moved: None, counts_first: false }
    }

    /// Sets generations, which mark boxes that replace earlier boxes: [`Identity::Generations`].
    #[must_use]
    pub fn with_generations(self, generations: &'a [u32]) -> Self {
        Self { identity: Identity::Generations(generations), ..self }
    }

    /// Sets the index of each box in the last step: [`Identity::Was`]. Filters use the indices of this step: if boxes
    /// are added, removed or reordered, set filters of the new length and order first.
    /// [`Events::carry`](crate::Events::carry) has an example.
    #[must_use]
    pub fn rebased(self, was: &'a [u32]) -> Self {
        Self { identity: Identity::Was(was), ..self }
    }

    /// Requests only created and lost pairs, which takes less time and memory.
    #[must_use]
    pub fn changes_only(self) -> Self {
        Self { lists_persisting: false, ..self }
    }

    /// Requests exact counts of all events in the report of the first piece of a
    /// [stream](crate::BroadPhase::stream_events), for programs that reserve memory first. Cost: one more stream of the
    /// step. `find_events` always returns complete lists with their counts.
    #[must_use]
    pub fn counts_first(self) -> Self {
        Self { counts_first: true, ..self }
    }

    /// Lists the moved boxes, so that the CPU engine reads only these. The list must have every index whose bounds
    /// differ, in any bit, from the bounds of the same index in the last step. It may have other indices, in any order.
    /// If it lacks a moved box, events are wrong until a step reads that box. The GPU engine checks the list but does
    /// not use it, since each step is a search.
    ///
    /// The last step is the last call of `find_events`. If this call failed or had another box count, all boxes are
    /// compared, as without this list.
    #[must_use]
    pub fn moved(self, moved: &'a [u32]) -> Self {
        Self { moved: Some(moved), ..self }
    }

    /// Checks the list of moved boxes.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub(crate) fn check_moved(&self) -> Result<(), Error> {
        let box_count = self.boxes.len();
        let beyond = |&index: &u32| index as usize >= box_count;
        match self.moved.and_then(|moved| moved.iter().copied().find(beyond)) {
            None => Ok(()),
            Some(index) => Err(Error::BadStep {
                list: "moved",
                problem: format!("has {index}, and there are {box_count} boxes; indices must be smaller"),
            }),
        }
    }

    /// Returns the step without the bounds of its boxes.
    pub(crate) fn spec(&self) -> StepSpec<'a> {
        let Self { boxes, identity, lists_persisting, .. } = *self;
        StepSpec { box_count: boxes.len(), identity, lists_persisting }
    }
}

/// A step without the bounds of its boxes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepSpec<'a> {
    pub box_count: usize,
    pub identity: Identity<'a>,
    pub lists_persisting: bool,
}

/// An owned [`StepSpec`], for a step in flight.
#[cfg(feature = "gpu")]
#[derive(Debug)]
pub(crate) struct OwnedStepSpec {
    box_count: usize,
    identity: OwnedIdentity,
    lists_persisting: bool,
}

#[cfg(feature = "gpu")]
#[derive(Debug)]
enum OwnedIdentity {
    Index,
    Generations(Vec<u32>),
    Was(Vec<u32>),
}

#[cfg(feature = "gpu")]
impl OwnedStepSpec {
    /// Returns a borrowed spec.
    pub fn spec(&self) -> StepSpec<'_> {
        let identity = match &self.identity {
            OwnedIdentity::Index => Identity::Index,
            OwnedIdentity::Generations(numbers) => Identity::Generations(numbers),
            OwnedIdentity::Was(numbers) => Identity::Was(numbers),
        };
        StepSpec { box_count: self.box_count, identity, lists_persisting: self.lists_persisting }
    }
}

#[cfg(feature = "gpu")]
impl From<StepSpec<'_>> for OwnedStepSpec {
    fn from(spec: StepSpec<'_>) -> Self {
        let StepSpec { box_count, identity, lists_persisting } = spec;
        let identity = match identity {
            Identity::Index => OwnedIdentity::Index,
            Identity::Generations(numbers) => OwnedIdentity::Generations(numbers.to_vec()),
            Identity::Was(numbers) => OwnedIdentity::Was(numbers.to_vec()),
        };
        Self { box_count, identity, lists_persisting }
    }
}

impl StepSpec<'_> {
    /// Checks the identity, after a step of `last` boxes. `is_named` is scratch memory.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub(super) fn check(&self, last: u32, is_named: &mut Vec<bool>) -> Result<(), Error> {
        let (list, numbers) = match self.identity {
            Identity::Index => return Ok(()),
            Identity::Generations(numbers) => ("generations", numbers),
            Identity::Was(numbers) => ("was", numbers),
        };
        if numbers.len() != self.box_count {
            let problem = format!(
                "has {} elements, and there are {} boxes; it must have one for each",
                numbers.len(),
                self.box_count
            );
            return Err(Error::BadStep { list, problem });
        }
        if let Identity::Was(was) = self.identity {
            is_named.clear();
            is_named.resize(last as usize, false);
            for (i, &index) in was.iter().enumerate().filter(|&(_, &index)| index != Step::NEW) {
                let problem = match is_named.get_mut(index as usize) {
                    None => format!(
                        "has {index} for box {i}, and the last step had {last} boxes; it must be smaller, or `Step::NEW`"
                    ),
                    Some(true) => format!("has {index} for box {i}, and for another box too; indices must be distinct"),
                    Some(is_named) => {
                        *is_named = true;
                        continue;
                    }
                };
                return Err(Error::BadStep { list, problem });
            }
        }
        Ok(())
    }
}

impl<'a, T: AsRef<[Aabb]> + ?Sized> From<&'a T> for Step<'a> {
    fn from(boxes: &'a T) -> Self {
        Self::new(boxes.as_ref())
    }
}
