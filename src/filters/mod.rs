//! Which pairs are not wanted, which always are, and shapes that are no boxes: [`Filters`].
//!
//! | type | holds |
//! |---|---|
//! | [`Filters`] | what the caller says; a row of `rows.rs` for each list by box |
//! | [`CheckedFilters`] | the same, checked, with what engines look up: listed pairs by box, worlds by number |
//! | [`FilterSet`](device::FilterSet) | checked filters and their buffers on the GPU |
//! | [`FilterLists`](lists::FilterLists) | of these buffers, the lists that kernels test pairs with |
//! | [`FilterLayout`](rows::FilterLayout) | where each of these lists begins, or that there is none |
//! | [`FilteredKernel`](lists::FilteredKernel) | a kernel that tests pairs: a pipeline that reads filters, and one without |

// The CPU engine alone needs nothing of what the lists on the GPU are made from.
#![cfg_attr(not(feature = "gpu"), allow(dead_code))]

mod by_world;
#[cfg(feature = "gpu")]
pub mod changes;
mod checked;
#[cfg(feature = "gpu")]
pub mod device;
mod half_space;
mod listed;
#[cfg(feature = "gpu")]
pub mod lists;
mod margin;
mod owner;
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
mod part;
mod predicate;
#[cfg(feature = "gpu")]
pub mod prepare;
#[cfg(feature = "gpu")]
pub mod recorded;
pub mod rows;
pub mod sets;
#[cfg(feature = "gpu")]
pub mod shared;
mod table;

pub use by_world::ByWorld;
pub use checked::CheckedFilters;
pub use half_space::HalfSpace;
pub(crate) use half_space::{WHOLE_SPACE, reaches_into};
pub(crate) use margin::grown;
pub use predicate::SearchedBoxes;
#[cfg(feature = "gpu")]
pub use rows::GpuAttribute;
pub use rows::{Attribute, BoxFilter, Filters};
pub use table::ValueFormat;

use std::collections::HashSet;

use crate::constants::{EXCLUDE_MOST, MAX_ENTRIES};
use crate::{Aabb, Error};

/// Says how the groups and masks of two boxes decide whether they may pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum GroupRule {
    /// Keeps the pair where `group_a & mask_b` or `group_b & mask_a` is not zero: MuJoCo's contype and conaffinity, ODE's
    /// category and collide bits.
    #[default]
    Any,
    /// Keeps the pair where both are not zero: rapier's memberships and filter, Bullet's group and mask.
    Both,
}

impl GroupRule {
    /// Returns the name of the rule in lower case: `any` or `both`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Both => "both",
        }
    }
}

impl Filters {
    /// Stands for the parent of a body that has none, 2³² − 1.
    pub const NO_PARENT: u32 = u32::MAX;
    /// Stands for the world of a box that meets all worlds, 2³² − 1.
    pub const GLOBAL: u32 = u32::MAX;

    /// Returns whether nothing is said of any box.
    pub fn is_empty(&self) -> bool {
        *self == Self { rule: self.rule, ..Self::default() }
    }

    /// Checks that the filters fit this many boxes.
    ///
    /// # Errors
    /// [`Error::FilterLength`] where a list by box has another length; [`Error::BadFilter`] for more of `exclude_at_most` than there
    /// can be, for the first margin that is
    /// negative or not finite, the first pair of `exclude` or `include` with an index beyond the boxes or twice the
    /// same, the first half-space that is none, and an owner region that is no valid box.
    pub fn check(&self, box_count: usize) -> Result<(), Error> {
        self.check_lengths(box_count)?;
        self.check_values()?;
        for (list, pairs) in [("exclude", &self.exclude), ("include", &self.include)] {
            if let Some(at) = pairs.iter().position(|pair| pair.a.max(pair.b) as usize >= box_count) {
                let (a, b) = (pairs[at].a, pairs[at].b);
                let problem = format!("is ({a}, {b}), and there are {box_count} boxes");
                return Err(Error::BadFilter { list, index: at as u64, problem });
            }
        }
        if let Some(at) = self.half_spaces.iter().position(|half_space| half_space.index as usize >= box_count) {
            let problem = format!("is of box {}, and there are {box_count} boxes", self.half_spaces[at].index);
            return Err(Error::BadFilter { list: "half_spaces", index: at as u64, problem });
        }
        Ok(())
    }

    /// Checks that each list by box has an element for each box, or none.
    fn check_lengths(&self, box_count: usize) -> Result<(), Error> {
        for (list, length) in self.lengths() {
            if length != 0 && length != box_count {
                return Err(Error::FilterLength { list, length: length as u64, box_count: box_count as u64 });
            }
        }
        Ok(())
    }

    /// Checks what does not depend on the number of boxes.
    pub(crate) fn check_values(&self) -> Result<(), Error> {
        check_margins(0, &self.margin)?;
        for (list, pairs) in [("exclude", &self.exclude), ("include", &self.include)] {
            if let Some(at) = pairs.iter().position(|pair| pair.a == pair.b) {
                let problem = format!("is ({0}, {0}): a box with itself", pairs[at].a);
                return Err(Error::BadFilter { list, index: at as u64, problem });
            }
        }
        let listed = u64::from(self.exclude_at_most) + self.include.len() as u64;
        if self.exclude_at_most > EXCLUDE_MOST || self.exclude_at_most > 0 && listed > MAX_ENTRIES.into() {
            let (room, included) = (self.exclude_at_most, self.include.len());
            let problem = format!(
                "is {room}, beside {included} included pairs; it may be {EXCLUDE_MOST}, and both together {MAX_ENTRIES}"
            );
            return Err(Error::BadFilter { list: "exclude_at_most", index: 0, problem });
        }
        let mut seen = HashSet::new();
        for (at, half_space) in self.half_spaces.iter().enumerate() {
            let problem = if !half_space.is_valid() {
                "must have a finite normal that is not zero, and a finite offset".to_owned()
            } else if !seen.insert(half_space.index) {
                format!("is the second of box {}", half_space.index)
            } else {
                continue;
            };
            return Err(Error::BadFilter { list: "half_spaces", index: at as u64, problem });
        }
        if let Some(region) = self.owner
            && !region.is_valid()
        {
            let is_in_order = |k: &usize| region.min[*k] <= region.max[*k];
            let axis = (0..2).find(|k| !is_in_order(k)).unwrap_or(2);
            let problem = format!(
                "is an axis on which the region reaches from {} to {}; give numbers, the smaller first",
                region.min[axis], region.max[axis]
            );
            return Err(Error::BadFilter { list: "owner", index: axis as u64, problem });
        }
        Ok(())
    }

    /// Refuses what queries do not know.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for half-spaces, and for an owner region.
    pub(crate) fn check_for_queries(&self) -> Result<(), Error> {
        let (list, problem) = match self {
            Self { half_spaces, .. } if !half_spaces.is_empty() => {
                ("half_spaces", "is a half-space, and queries know none")
            }
            Self { owner: Some(_), .. } => ("owner", "is of a region that owns pairs, and queries know none"),
            _ => return Ok(()),
        };
        Err(Error::BadFilter { list, index: 0, problem: problem.to_owned() })
    }

    /// Changes boxes to what is searched: grows them by their margins, and puts the whole space in place of those that
    /// stand for half-spaces.
    pub(crate) fn prepare(&self, boxes: &mut [Aabb]) {
        self.grow(0, boxes);
        self.open_half_spaces(boxes);
    }

    /// Grows boxes in a row from box `first` on by their margins.
    pub(crate) fn grow(&self, first: usize, boxes: &mut [Aabb]) {
        for (aabb, &margin) in boxes.iter_mut().zip(self.margin.iter().skip(first)) {
            *aabb = grown(aabb, margin);
        }
    }

    /// Puts the whole space in place of the boxes that stand for half-spaces.
    pub(crate) fn open_half_spaces(&self, boxes: &mut [Aabb]) {
        for half_space in &self.half_spaces {
            boxes[half_space.index as usize] = WHOLE_SPACE;
        }
    }

    /// Returns whether the boxes are searched as they are.
    pub(crate) fn leaves_boxes(&self) -> bool {
        self.margin.is_empty() && self.half_spaces.is_empty()
    }

    /// Returns whether there may be lists of pairs.
    #[cfg(feature = "gpu")]
    pub(crate) fn has_lists(&self) -> bool {
        !self.exclude.is_empty() || !self.include.is_empty() || self.exclude_at_most > 0
    }

    /// Returns whether boxes have groups or masks.
    pub(crate) fn has_groups(&self) -> bool {
        !(self.group.is_empty() && self.mask.is_empty())
    }

    /// Checks that a list by box has `count` places from number `first` on.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    #[cfg(feature = "gpu")]
    pub(crate) fn check_places(&self, list: &'static str, first: usize, count: usize) -> Result<usize, Error> {
        let length = self.lengths().into_iter().find(|(name, _)| *name == list).map_or(0, |(_, length)| length);
        table::check_places(list, length, first, count)?;
        Ok(length)
    }

    /// Puts `values` in place of those from box `first` on.
    ///
    /// # Errors
    /// [`Error::BadFilter`] where the list has no such places, or for a margin that is negative or not finite; nothing is
    /// changed then.
    pub fn change(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        if let Attribute::Margin(margins) = values {
            check_margins(first, margins)?;
        }
        self.replace(first, values)
    }
}

/// Checks that all margins are finite and not negative; the first of them is number `first` of the list.
fn check_margins(first: usize, margins: &[f32]) -> Result<(), Error> {
    match margins.iter().position(|&margin| !(margin >= 0.0 && margin.is_finite())) {
        None => Ok(()),
        Some(at) => {
            let problem = format!("is {}; it must be finite and not negative", margins[at]);
            Err(Error::BadFilter { list: "margin", index: first.saturating_add(at) as u64, problem })
        }
    }
}
