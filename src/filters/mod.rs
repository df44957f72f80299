//! [`Filters`]: rules that exclude or include pairs, and shapes other than boxes.
//!
//! | type | holds |
//! |---|---|
//! | [`Filters`] | the values of the caller; a *list by box* has an element per box, and a row in `rows.rs` |
//! | [`CheckedFilters`] | checked filters, with tables for lookups: listed pairs by box, worlds by number |
//! | [`FilterSet`](device::FilterSet) | checked filters and their buffers on the GPU |
//! | [`FilterLists`](lists::FilterLists) | the buffers that kernels read when they test pairs |
//! | [`FilterLayout`](rows::FilterLayout) | the start of each list, or `ABSENT` |
//! | [`FilteredKernel`](lists::FilteredKernel) | a kernel that tests pairs, with a pipeline for each kind of filters |

// Without the feature `gpu`, the layout of lists for the GPU is unused.
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
mod mesh;
mod one_box;
mod owner;
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
mod part;
#[cfg(feature = "gpu")]
pub mod points;
mod predicate;
#[cfg(feature = "gpu")]
pub mod prepare;
#[cfg(feature = "gpu")]
pub mod recorded;
pub mod rows;
pub mod sets;
#[cfg(feature = "gpu")]
pub mod shared;
mod spheres;
mod table;
mod values;

pub use by_world::ByWorld;
pub use checked::CheckedFilters;
pub use half_space::HalfSpace;
pub(crate) use half_space::{WHOLE_SPACE, reaches_into};
#[cfg(feature = "gpu")]
pub(crate) use margin::NO_POINTS;
pub(crate) use margin::padded;
pub use mesh::pairs_that_share_a_vertex;
pub use predicate::SearchedBoxes;
#[cfg(feature = "gpu")]
pub use rows::GpuAttribute;
pub use rows::{Attribute, BoxFilter, Filters};
pub use spheres::sphere_from_f64;
pub(crate) use spheres::{NO_SPHERE, check_spheres, padded_sphere, spheres_touch};
pub use values::ValueFormat;

use std::collections::HashSet;

use crate::base::constants::{EXCLUDE_MOST, MAX_ENTRIES};
use crate::{Aabb, Error};

/// The rule that decides by groups and masks whether two boxes may be a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum GroupRule {
    /// The default. Accepts the pair if `group_a & mask_b` or `group_b & mask_a` is not zero: MuJoCo's contype and
    /// conaffinity, ODE's category and collide bits.
    #[default]
    Any,
    /// Accepts the pair if `group_a & mask_b` and `group_b & mask_a` are not zero: rapier's memberships and filter,
    /// Bullet's group and mask.
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
    /// The element of [`parent`](Self::parent) for a box without parent, 2³² − 1. Elements are plain numbers, since
    /// lists are uploaded unchanged. In [`BoxFilter`], the value is an `Option`.
    pub const NO_PARENT: u32 = u32::MAX;
    /// The element of [`world`](Self::world) for a box that meets all worlds, 2³² − 1.
    pub const GLOBAL: u32 = u32::MAX;

    /// Returns whether all filters have their defaults, except for `rule`.
    pub fn is_empty(&self) -> bool {
        *self == Self { rule: self.rule, ..Self::default() }
    }

    /// Checks that the filters fit this many boxes.
    ///
    /// # Errors
    /// [`Error::FilterLength`] if the length of a list by box differs from the box count. [`Error::BadFilter`] for the
    /// first of these: `exclude_at_most` above its limit; a margin that is negative or not finite; an invalid sphere; a
    /// pair of `exclude` or `include` with an index beyond the boxes, or of a box with itself; an invalid half-space;
    /// an owner region that is not a valid box.
    pub fn check(&self, box_count: usize) -> Result<(), Error> {
        self.check_lengths(box_count)?;
        self.check_values()?;
        for (list, pairs) in [("exclude", &self.exclude), ("include", &self.include)] {
            if let Some(at) = pairs.iter().position(|pair| pair.a.max(pair.b) as usize >= box_count) {
                let (a, b) = (pairs[at].a, pairs[at].b);
                let problem = format!("is ({a}, {b}), and there are {box_count} boxes; indices must be smaller");
                return Err(Error::BadFilter { list, index: Some(at as u64), problem });
            }
        }
        if let Some(at) = self.half_spaces.iter().position(|half_space| half_space.index as usize >= box_count) {
            let problem = format!(
                "is of box {}, and there are {box_count} boxes; its index must be smaller",
                self.half_spaces[at].index
            );
            return Err(Error::BadFilter { list: "half_spaces", index: Some(at as u64), problem });
        }
        Ok(())
    }

    /// Checks that each list by box is empty or has one element per box.
    fn check_lengths(&self, box_count: usize) -> Result<(), Error> {
        for (list, length) in self.lengths() {
            if length != 0 && length != box_count {
                return Err(Error::FilterLength { list, length: length as u64, box_count: box_count as u64 });
            }
        }
        Ok(())
    }

    /// Checks the values that do not depend on the box count.
    pub(crate) fn check_values(&self) -> Result<(), Error> {
        check_margins(0, &self.margin)?;
        check_spheres("sphere", 0, &self.sphere)?;
        for (list, pairs) in [("exclude", &self.exclude), ("include", &self.include)] {
            if let Some(at) = pairs.iter().position(|pair| pair.a == pair.b) {
                let problem = format!("is ({0}, {0}): a box with itself; the two boxes must differ", pairs[at].a);
                return Err(Error::BadFilter { list, index: Some(at as u64), problem });
            }
        }
        let listed = u64::from(self.exclude_at_most) + self.include.len() as u64;
        if self.exclude_at_most > EXCLUDE_MOST || self.exclude_at_most > 0 && listed > MAX_ENTRIES.into() {
            let (most, included) = (self.exclude_at_most, self.include.len());
            let problem = format!(
                "is {most}, with {included} included pairs; it must be at most {EXCLUDE_MOST}, and both together at most \
                 {MAX_ENTRIES}"
            );
            return Err(Error::BadFilter { list: "exclude_at_most", index: None, problem });
        }
        let mut seen = HashSet::new();
        for (at, half_space) in self.half_spaces.iter().enumerate() {
            let problem = if !half_space.is_valid() {
                "must have a finite normal that is not zero, and a finite offset".to_owned()
            } else if !seen.insert(half_space.index) {
                format!("is a second half-space of box {}; a box has at most one", half_space.index)
            } else {
                continue;
            };
            return Err(Error::BadFilter { list: "half_spaces", index: Some(at as u64), problem });
        }
        if let Some(region) = self.owner
            && !region.is_valid()
        {
            let is_in_order = |k: &usize| region.min[*k] <= region.max[*k];
            let axis = (0..2).find(|k| !is_in_order(k)).unwrap_or(2);
            let problem = format!(
                "reaches from {} to {}; both must be numbers, and the lower bound must come first",
                region.min[axis], region.max[axis]
            );
            return Err(Error::BadFilter { list: "owner", index: Some(axis as u64), problem });
        }
        Ok(())
    }

    /// Returns an error if queries do not support the filters.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for an owner region.
    pub(crate) fn check_for_queries(&self) -> Result<(), Error> {
        let problem = "is set; queries have no owner region, so it must be `None`".to_owned();
        match self.owner {
            Some(_) => Err(Error::BadFilter { list: "owner", index: None, problem }),
            None => Ok(()),
        }
    }

    /// Prepares boxes for a search: pads them by their margins, and replaces boxes that stand for half-spaces by the
    /// whole space.
    pub(crate) fn prepare(&self, boxes: &mut [Aabb]) {
        self.pad(0, boxes);
        self.replace_half_spaces(boxes, WHOLE_SPACE);
    }

    /// Pads consecutive boxes from box `first` on by their margins.
    pub(crate) fn pad(&self, first: usize, boxes: &mut [Aabb]) {
        for (aabb, &margin) in boxes.iter_mut().zip(self.margin.iter().skip(first)) {
            *aabb = padded(aabb, margin);
        }
    }

    /// Replaces boxes that stand for half-spaces by `with`.
    pub(crate) fn replace_half_spaces(&self, boxes: &mut [Aabb], with: Aabb) {
        for half_space in &self.half_spaces {
            boxes[half_space.index as usize] = with;
        }
    }

    /// Returns `true` if no filter changes the boxes.
    pub(crate) fn leaves_boxes(&self) -> bool {
        self.margin.is_empty() && self.half_spaces.is_empty()
    }

    /// Returns `true` if there are lists of pairs, or if there may be some on the device.
    #[cfg(feature = "gpu")]
    pub(crate) fn has_lists(&self) -> bool {
        !self.exclude.is_empty() || !self.include.is_empty() || self.exclude_at_most > 0
    }

    /// Returns whether boxes have groups or masks.
    pub(crate) fn has_groups(&self) -> bool {
        !(self.group.is_empty() && self.mask.is_empty())
    }

    /// Checks that a list by box has `count` elements from index `first` on. Returns the length of the list.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    #[cfg(feature = "gpu")]
    pub(crate) fn check_places(&self, list: &'static str, first: usize, count: usize) -> Result<usize, Error> {
        let length = self.lengths().into_iter().find(|(name, _)| *name == list).map_or(0, |(_, length)| length);
        table::check_places(list, length, first, count)?;
        Ok(length)
    }

    /// Replaces the values from box `first` on by `values`.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if the list is too short, a margin is negative or not finite, or a sphere is invalid. After
    /// an error, the list is unchanged.
    pub fn change(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        match values {
            Attribute::Margin(margins) => check_margins(first, margins)?,
            Attribute::Sphere(spheres) => check_spheres("sphere", first, spheres)?,
            _ => {}
        }
        self.replace(first, values)
    }
}

/// Checks that all margins are finite and not negative. The first of `margins` has index `first` in the list.
fn check_margins(first: usize, margins: &[f32]) -> Result<(), Error> {
    match margins.iter().position(|&margin| !(margin >= 0.0 && margin.is_finite())) {
        None => Ok(()),
        Some(at) => {
            let problem = format!("is {}; it must be finite and not negative", margins[at]);
            Err(Error::BadFilter { list: "margin", index: Some(first.saturating_add(at) as u64), problem })
        }
    }
}
