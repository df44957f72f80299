//! What a caller says of a step: [`Step`].

use crate::{Aabb, Error};

/// The boxes of a step, and which box of the last step each of them is. A slice of boxes is a step too: `boxes.into()`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The boxes.
    pub boxes: &'a [Aabb],
    /// Which box of the last step each of them is.
    pub identity: Identity<'a>,
    /// Whether [`before`](crate::Events::before) and [`persisting`](crate::Events::persisting) are wanted.
    pub lists_persisting: bool,
}

/// Says which box of the last step each box of a step is.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Identity<'a> {
    /// The one with the same index. Boxes beyond the last step's are new; those beyond this step's are gone.
    #[default]
    Index,
    /// `[box_count]` the one with the same index, if this number is the same as in the last step that had such numbers; otherwise
    /// the box is a new one in the place of one that is gone. A pair of such an index can be lost *and* created.
    Generations(&'a [u32]),
    /// `[box_count]` the one with this index in the last step, no two the same; or [`Step::NEW`]. Boxes of the last step that are
    /// not named are gone.
    Was(&'a [u32]),
}

impl<'a> Step<'a> {
    /// Stands for the index of a box that the last step did not have.
    pub const NEW: u32 = u32::MAX;

    /// Makes a step of these boxes, each of which is the box of the same index in the last step.
    pub fn new(boxes: &'a [Aabb]) -> Self {
        Self { boxes, identity: Identity::Index, lists_persisting: true }
    }

    /// Says which boxes are new in the place of others: [`Identity::Generations`].
    pub fn with_generations(self, generations: &'a [u32]) -> Self {
        Self { identity: Identity::Generations(generations), ..self }
    }

    /// Says which box of the last step each box is: [`Identity::Was`].
    pub fn rebased(self, was: &'a [u32]) -> Self {
        Self { identity: Identity::Was(was), ..self }
    }

    /// Asks for the pairs that are created and lost alone, which takes less time and memory.
    pub fn changes_only(self) -> Self {
        Self { lists_persisting: false, ..self }
    }

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
        if numbers.len() != self.boxes.len() {
            let problem = format!("has {} elements, and there are {} boxes", numbers.len(), self.boxes.len());
            return Err(Error::BadStep { list, problem });
        }
        if let Identity::Was(was) = self.identity {
            is_named.clear();
            is_named.resize(last as usize, false);
            for (i, &index) in was.iter().enumerate().filter(|&(_, &index)| index != Self::NEW) {
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
