//! What a caller says of a step: [`Step`].

use crate::{Aabb, Error};

/// The boxes of a step, and which box of the last step each of them is. A slice of boxes is a step too: `boxes.into()`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The boxes.
    pub boxes: &'a [Aabb],
    /// Which box of the last step each of them is.
    pub identity: Identity<'a>,
    /// Whether [`before`](crate::Events::before) and [`persisting`](crate::Events::persisting) are wanted.
    pub lists_persisting: bool,
    /// The only boxes that may not be where they were, if that is known; a hint for the CPU engine: [`Step::moved`].
    pub moved: Option<&'a [u32]>,
    /// Whether a stream counts all events before it hands over the first piece: [`Step::counts_first`].
    pub counts_first: bool,
}

/// Says which box of the last step each box of a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Identity<'a> {
    /// The one with the same index. Boxes beyond the last step's are new; those beyond this step's are gone.
    #[default]
    Index,
    /// `[box_count]` the one with the same index, if this number is the same as in the last step that had such numbers, or if that
    /// step had none for it; otherwise the box is a new one in the place of one that is gone. A pair of such an index can be lost *and* created.
    Generations(&'a [u32]),
    /// `[box_count]` the one with this index in the last step, no two the same; or [`Step::NEW`]. Boxes of the last step that are
    /// not named are gone.
    Was(&'a [u32]),
}

impl<'a> Step<'a> {
    /// Stands for the index of a box that the last step did not have.
    pub const NEW: u32 = u32::MAX;

    /// Creates a step of these boxes, each of which is the box of the same index in the last step.
    pub fn new(boxes: &'a [Aabb]) -> Self {
        Self { boxes, identity: Identity::Index, lists_persisting: true, moved: None, counts_first: false }
    }

    /// Sets which boxes are new in the place of others: [`Identity::Generations`].
    #[must_use]
    pub fn with_generations(self, generations: &'a [u32]) -> Self {
        Self { identity: Identity::Generations(generations), ..self }
    }

    /// Sets which box of the last step each box is: [`Identity::Was`]. Filters are by the indices of this step and do not follow: if boxes are added,
    /// removed or reordered, set filters of the new length and order first. [`Events::carry`](crate::Events::carry) shows it with a solver.
    #[must_use]
    pub fn rebased(self, was: &'a [u32]) -> Self {
        Self { identity: Identity::Was(was), ..self }
    }

    /// Requests only the pairs that are created and lost, which takes less time and memory.
    #[must_use]
    pub fn changes_only(self) -> Self {
        Self { lists_persisting: false, ..self }
    }

    /// Asks for the exact numbers of all events in the report of the first piece, where events are
    /// [streamed](crate::BroadPhase::stream_events): what a program makes room by. The step is streamed once more for that. Lists of
    /// events that are found are whole, and counted, in any case.
    #[must_use]
    pub fn counts_first(self) -> Self {
        Self { counts_first: true, ..self }
    }

    /// Says which boxes moved: the indices of all whose bounds are not, bit for bit, those that the box with the same index had in
    /// the last step. Others may be among them, in any order. A hint for the CPU engine, which does not look at boxes that are not; where one
    /// of those did move, events are wrong until it is looked at. The GPU engine checks the list and does not use it: a step there is a
    /// search of all boxes.
    ///
    /// The last step is here the last call of `find_events`. If that was refused or had another number of boxes, all boxes are compared, as without
    /// this list.
    #[must_use]
    pub fn moved(self, moved: &'a [u32]) -> Self {
        Self { moved: Some(moved), ..self }
    }

    /// Checks the list of boxes that moved.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub(crate) fn check_moved(&self) -> Result<(), Error> {
        let box_count = self.boxes.len();
        let beyond = |&index: &u32| index as usize >= box_count;
        match self.moved.and_then(|moved| moved.iter().copied().find(beyond)) {
            None => Ok(()),
            Some(index) => {
                Err(Error::BadStep { list: "moved", problem: format!("has {index}, and there are {box_count} boxes") })
            }
        }
    }

    /// Returns what is said of the boxes.
    pub(crate) fn spec(&self) -> StepSpec<'a> {
        let Self { boxes, identity, lists_persisting, .. } = *self;
        StepSpec { box_count: boxes.len(), identity, lists_persisting }
    }
}

/// What is said of the boxes of a step, whose bounds are elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepSpec<'a> {
    pub box_count: usize,
    pub identity: Identity<'a>,
    pub lists_persisting: bool,
}

/// The same, with numbers of its own, of a step that is in flight.
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
    /// Returns what is said.
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
    /// Checks what is said of identity, after a step of `last` boxes. `is_named` is a place to write.
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
            let problem = format!("has {} elements, and there are {} boxes", numbers.len(), self.box_count);
            return Err(Error::BadStep { list, problem });
        }
        if let Identity::Was(was) = self.identity {
            is_named.clear();
            is_named.resize(last as usize, false);
            for (i, &index) in was.iter().enumerate().filter(|&(_, &index)| index != Step::NEW) {
                let problem = match is_named.get_mut(index as usize) {
                    None => format!("has {index} for box {i}, and the last step had {last} boxes"),
                    Some(true) => format!("has {index} for box {i}, and for another box too"),
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
