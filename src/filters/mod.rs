//! Which pairs are not wanted, which always are, and shapes that are no boxes: [`Filters`].

mod by_world;
mod checked;
#[cfg(feature = "gpu")]
pub mod device;
mod half_space;
#[cfg(feature = "gpu")]
pub mod lists;
mod margin;
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
mod part;
#[cfg(feature = "gpu")]
pub mod prepare;

pub use by_world::ByWorld;
pub use checked::{CheckedFilters, Listed};
pub use half_space::HalfSpace;
pub(crate) use half_space::WHOLE_SPACE;
pub(crate) use margin::grown;

use std::collections::HashSet;

use crate::{Aabb, Error, Pair};

/// What is said of the boxes beside their bounds. All of it is optional: an empty list is not used, costs no memory
/// and is not read.
///
/// A list by box has an element for each box of the call, in the order of the input. A pair of boxes that overlap is
/// reported if every filter keeps it; [`include`](Self::include) overrules them all.
///
/// ```
/// use broadsweep::{Aabb, Filters, Options, Pair, cpu};
///
/// let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 3];
/// let mut broad_phase = cpu::BroadPhase::new(Options::default())?;
/// broad_phase.set_filters(Filters { body: vec![7, 7, 8], exclude: vec![Pair::new(2, 1)], ..Filters::default() })?;
/// assert_eq!(broad_phase.find_pairs(&boxes)?.pairs, [Pair { a: 0, b: 2 }]);
/// # Ok::<(), broadsweep::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// How `group` and `mask` of two boxes decide.
    pub rule: GroupRule,
    /// The groups that a box is in, a bit each. Where only `mask` is given, every box is in all of them.
    pub group: Vec<u32>,
    /// The groups that a box meets. Where only `group` is given, every box meets all of them.
    pub mask: Vec<u32>,
    /// The body that a box belongs to, any number. Boxes of one body never pair. Where only `parent` is given, every
    /// box is a body of its own, with the box's index as its number.
    pub body: Vec<u32>,
    /// The parent of the body that a box belongs to, or [`NO_PARENT`](Self::NO_PARENT). A box never pairs with boxes of
    /// its body's parent. It is read box by box: boxes of one body may have different ones.
    pub parent: Vec<u32>,
    /// Two fixed boxes never pair.
    pub fixed: Vec<bool>,
    /// Two sleeping boxes never pair. Where a box is fixed and what sleeps on it shall not be reported, it is to be
    /// called sleeping too.
    pub sleeping: Vec<bool>,
    /// The world that a box is in, any number, or [`GLOBAL`](Self::GLOBAL). Boxes of different worlds never pair; a
    /// global box meets those of all worlds, and other global ones.
    pub world: Vec<u32>,
    /// By how much a box is grown on each side, in the units of the input, finite and not negative. Bounds are rounded
    /// outward: the largest `f32` that is at most `min - margin`, the smallest that is at least `max + margin`. It comes
    /// before anything else: whether a box is invalid is asked of the grown box.
    pub margin: Vec<f32>,
    /// Pairs that are never reported. Any order, also within a pair; what comes twice counts once.
    pub exclude: Vec<Pair>,
    /// Pairs that are always reported, once, whatever the boxes are and the other filters say; also where they do not
    /// overlap, are invalid, or the pair is in `exclude`.
    pub include: Vec<Pair>,
    /// Boxes that stand for half-spaces: their bounds are not looked at. At most one half-space for a box.
    pub half_spaces: Vec<HalfSpace>,
}

/// How the groups and masks of two boxes decide whether they may pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupRule {
    /// `group_a & mask_b` or `group_b & mask_a` is not zero: MuJoCo's contype and conaffinity, ODE's category and
    /// collide bits.
    #[default]
    Any,
    /// Both are not zero: rapier's memberships and filter, Bullet's group and mask.
    Both,
}

/// Values for some boxes in a row of one list by box.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Attribute<'a> {
    /// Of [`Filters::group`].
    Group(&'a [u32]),
    /// Of [`Filters::mask`].
    Mask(&'a [u32]),
    /// Of [`Filters::body`].
    Body(&'a [u32]),
    /// Of [`Filters::parent`].
    Parent(&'a [u32]),
    /// Of [`Filters::fixed`].
    Fixed(&'a [bool]),
    /// Of [`Filters::sleeping`].
    Sleeping(&'a [bool]),
    /// Of [`Filters::world`].
    World(&'a [u32]),
    /// Of [`Filters::margin`].
    Margin(&'a [f32]),
}

impl Filters {
    /// The parent of a body that has none, 2³² − 1.
    pub const NO_PARENT: u32 = u32::MAX;
    /// The world of a box that meets all worlds, 2³² − 1.
    pub const GLOBAL: u32 = u32::MAX;

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Self { rule: self.rule, ..Self::default() }
    }

    /// Lists by box, with their lengths, in the order of the fields.
    fn lengths(&self) -> [(&'static str, usize); 8] {
        [
            ("group", self.group.len()),
            ("mask", self.mask.len()),
            ("body", self.body.len()),
            ("parent", self.parent.len()),
            ("fixed", self.fixed.len()),
            ("sleeping", self.sleeping.len()),
            ("world", self.world.len()),
            ("margin", self.margin.len()),
        ]
    }

    /// Whether it fits so many boxes.
    ///
    /// # Errors
    /// [`Error::FilterLength`] where a list by box has another length; [`Error::BadFilter`] for the first margin that is
    /// negative or not finite, the first pair of `exclude` or `include` with an index beyond the boxes or twice the
    /// same, and the first half-space that is none.
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

    /// Whether each list by box has an element for each box, or none.
    fn check_lengths(&self, box_count: usize) -> Result<(), Error> {
        for (list, length) in self.lengths() {
            if length != 0 && length != box_count {
                return Err(Error::FilterLength { list, length: length as u64, box_count: box_count as u64 });
            }
        }
        Ok(())
    }

    /// What can be said without the number of boxes.
    pub(crate) fn check_values(&self) -> Result<(), Error> {
        check_margins(0, &self.margin)?;
        for (list, pairs) in [("exclude", &self.exclude), ("include", &self.include)] {
            if let Some(at) = pairs.iter().position(|pair| pair.a == pair.b) {
                let problem = format!("is ({0}, {0}): a box with itself", pairs[at].a);
                return Err(Error::BadFilter { list, index: at as u64, problem });
            }
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
        Ok(())
    }

    /// Whether groups, bodies, `fixed`, `sleeping` and worlds keep the pair of boxes `a` and `b`: what is said box by
    /// box. The lists of pairs and the boxes themselves are not looked at.
    ///
    /// # Panics
    /// If a list is not empty and has no such index.
    pub fn keeps(&self, a: u32, b: u32) -> bool {
        let (i, j) = (a as usize, b as usize);
        let group = |i: usize| if self.group.is_empty() { u32::MAX } else { self.group[i] };
        let mask = |i: usize| if self.mask.is_empty() { u32::MAX } else { self.mask[i] };
        let (a_meets, b_meets) = (mask(i) & group(j) != 0, mask(j) & group(i) != 0);
        // What is read anyway is not branched on: a search asks for millions of pairs, and cannot predict the answers.
        let by_group = match self.rule {
            GroupRule::Any => a_meets | b_meets,
            GroupRule::Both => a_meets & b_meets,
        };
        let body = |i: usize| if self.body.is_empty() { i as u32 } else { self.body[i] };
        let is_child = |i: usize, j: usize| {
            !self.parent.is_empty() && (self.parent[i] != Self::NO_PARENT) & (self.parent[i] == body(j))
        };
        let by_body = (body(i) != body(j)) & !is_child(i, j) & !is_child(j, i);
        let both = |list: &[bool]| !list.is_empty() && list[i] & list[j];
        let by_world = self.world.is_empty()
            || (self.world[i] == self.world[j]) | (self.world[i] == Self::GLOBAL) | (self.world[j] == Self::GLOBAL);
        by_group & by_body & !both(&self.fixed) & !both(&self.sleeping) & by_world
    }

    /// The world that a pair belongs to: that of its boxes, or of the one that is not global; [`GLOBAL`](Self::GLOBAL)
    /// where both are or there are no worlds. Of an included pair across two worlds, that of the box `a`.
    ///
    /// # Panics
    /// If `world` is not empty and has no such index.
    pub fn world_of(&self, pair: Pair) -> u32 {
        if self.world.is_empty() { Self::GLOBAL } else { self.world[self.placed(pair)] }
    }

    /// The box whose world a pair belongs to, where there are worlds.
    fn placed(&self, pair: Pair) -> usize {
        let (a, b) = (pair.a as usize, pair.b as usize);
        if self.world[a] == Self::GLOBAL { b } else { a }
    }

    /// The boxes as they are searched: grown by their margins, and the whole space where one stands for a half-space.
    pub(crate) fn prepare(&self, boxes: &mut [Aabb]) {
        self.grow(0, boxes);
        self.open_half_spaces(boxes);
    }

    /// Boxes in a row from box `first` on, grown by their margins.
    pub(crate) fn grow(&self, first: usize, boxes: &mut [Aabb]) {
        for (aabb, &margin) in boxes.iter_mut().zip(self.margin.iter().skip(first)) {
            *aabb = grown(aabb, margin);
        }
    }

    /// The whole space in place of the boxes that stand for half-spaces.
    pub(crate) fn open_half_spaces(&self, boxes: &mut [Aabb]) {
        for half_space in &self.half_spaces {
            boxes[half_space.index as usize] = WHOLE_SPACE;
        }
    }

    /// Whether the boxes are searched as they are.
    pub(crate) fn leaves_boxes(&self) -> bool {
        self.margin.is_empty() && self.half_spaces.is_empty()
    }

    /// Puts `values` in place of those from box `first` on.
    ///
    /// # Errors
    /// [`Error::BadFilter`] where the list has no such places, or for a margin that is negative or not finite; nothing is
    /// changed then.
    pub fn change(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        match values {
            Attribute::Group(values) => replace("group", &mut self.group, first, values),
            Attribute::Mask(values) => replace("mask", &mut self.mask, first, values),
            Attribute::Body(values) => replace("body", &mut self.body, first, values),
            Attribute::Parent(values) => replace("parent", &mut self.parent, first, values),
            Attribute::Fixed(values) => replace("fixed", &mut self.fixed, first, values),
            Attribute::Sleeping(values) => replace("sleeping", &mut self.sleeping, first, values),
            Attribute::World(values) => replace("world", &mut self.world, first, values),
            Attribute::Margin(values) => {
                check_margins(first, values)?;
                replace("margin", &mut self.margin, first, values)
            }
        }
    }
}

/// That all are finite and not negative; the first of them is number `first` of the list.
fn check_margins(first: usize, margins: &[f32]) -> Result<(), Error> {
    match margins.iter().position(|&margin| !(margin >= 0.0 && margin.is_finite())) {
        None => Ok(()),
        Some(at) => {
            let problem = format!("is {}; it must be finite and not negative", margins[at]);
            Err(Error::BadFilter { list: "margin", index: first.saturating_add(at) as u64, problem })
        }
    }
}

fn replace<T: Copy>(list: &'static str, all: &mut [T], first: usize, values: &[T]) -> Result<(), Error> {
    let length = all.len();
    let places = first.checked_add(values.len()).and_then(|end| all.get_mut(first..end));
    let places = places.ok_or_else(|| Error::BadFilter {
        list,
        index: first as u64,
        problem: format!("and the {} after it are to be changed, and the list has {length}", values.len()),
    })?;
    places.copy_from_slice(values);
    Ok(())
}
