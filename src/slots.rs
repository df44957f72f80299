//! Boxes that come and go, each under a handle: [`Slots`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::cpu::call::checked_count;
use crate::engine::HasFilters;
use crate::{Aabb, BoxFilter, Engine, Error, Events, Filters, Step};

/// Body numbers from here on belong to boxes that are a body of their own.
const OWN_BODIES: u32 = 1 << 31;
/// The element of a new box in the list of bodies, before it gets a number of these.
const OWN_BODY: u32 = u32::MAX;
/// The fewest slots where there are any.
const FEWEST: usize = 64;
/// The box of a slot without one.
const NO_BOX: Aabb = Aabb::new([f32::NAN; 3], [f32::NAN; 3]);

impl BoxFilter {
    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    fn check(&self, index: usize) -> Result<(), Error> {
        Filters::default()
            .with_margin(vec![self.margin])
            .with_sphere(self.sphere.into_iter().collect())
            .check_values()
            .map_err(|error| match error {
                Error::BadFilter { list, problem, .. } => Error::BadFilter { list, index: index as u64, problem },
                other => other,
            })?;
        let numbers =
            [("body", self.body, OWN_BODIES), ("parent", self.parent, OWN_BODIES), ("world", self.world, u32::MAX)];
        for (list, number, end) in numbers {
            if let Some(number) = number.filter(|&number| number >= end) {
                let problem = format!("is {number}; with `Slots` it must be below {end}, or `None`");
                return Err(Error::BadFilter { list, index: index as u64, problem });
            }
        }
        Ok(())
    }
}

/// Names a box of [`Slots`] for as long as it is there. A handle is never used again for another box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Handle {
    /// The slot of the box: its index in [`Slots::boxes`], and in pairs.
    pub index: u32,
    /// The [generation](Slots::generations) of the slot while it has this box.
    pub generation: u32,
}

impl Handle {
    fn stale(self) -> Error {
        Error::StaleHandle { index: self.index, generation: self.generation }
    }
}

/// Boxes that come and go. Each box keeps one slot until it is removed; the index of the slot is the index of the box in pairs. A free slot has a
/// NaN box, which pairs with nothing, so that no other box has to move.
///
/// It is plain data on the host. [`find_events`](Self::find_events) passes boxes, generations and [filters](BoxFilter) to an engine:
/// pairs of a removed box are `lost`; pairs of an inserted one are `created`, also where it has the slot of a box that was removed in the same step.
/// For queries and recordings, call [`update_filters`](Self::update_filters) on a tree or a [`Recorder`](crate::Recorder) and use
/// [`boxes`](Self::boxes) and [`generations`](Self::generations).
///
/// Freed slots are used again, the lowest index first. Where all are in use, their number doubles, up to 2²⁵; it never decreases. Reports
/// count free slots as invalid boxes. Memory: 36 bytes for each slot, and 4 (a flag: 1) for each list by box in which a box has a value other than
/// the default.
///
/// ```
/// use broadsweep::step::{BoxFilter, Slots};
/// use broadsweep::{Aabb, Error, Options, cpu};
///
/// # fn main() -> Result<(), Error> {
/// let cube = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
/// let mut engine = cpu::BroadPhase::new(Options::default())?; // or BroadPhase::new(&gpu, …)
/// let mut slots = Slots::default();
/// let wall = slots.insert(cube(0.0), BoxFilter::default().with_fixed(true))?;
/// let crate_a = slots.insert(cube(0.5), BoxFilter::default())?;
/// assert_eq!(slots.find_events(&mut engine)?.created.len(), 1);
///
/// slots.remove(crate_a);
/// let crate_b = slots.insert(cube(0.75), BoxFilter::default())?;
/// assert_eq!(crate_b.index, crate_a.index); // the slot is used again
/// assert_eq!(slots.get(crate_a), None); // and the old handle is recognised
/// let events = slots.find_events(&mut engine)?;
/// let (lost, created) = (events.lost[0], events.created[0]);
/// assert_eq!([slots.last_handle_of(lost.a), slots.last_handle_of(lost.b)], [Some(wall), Some(crate_a)]);
/// assert_eq!([slots.handle_of(created.a), slots.handle_of(created.b)], [Some(wall), Some(crate_b)]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Slots {
    boxes: Vec<Aabb>,
    /// Odd where a slot has a box, so that a handle is valid where its generation is the slot's.
    generations: Vec<u32>,
    /// Slots that had a box, and those that never had one: all from `fresh` on.
    free: BinaryHeap<Reverse<u32>>,
    fresh: u32,
    len: usize,
    /// The lists by box.
    filters: Filters,
    /// The generations at the last marked step, and at the one before.
    marked: [Vec<u32>; 2],
}

impl Slots {
    /// Creates this many slots, so that their number does not change before all are in use.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`] beyond 2²⁵.
    pub fn with_capacity(capacity: usize) -> Result<Self, Error> {
        let mut slots = Self::default();
        slots.lengthen(capacity)?;
        Ok(slots)
    }

    /// Inserts a box with its filter values, and returns its handle. The cost grows with the logarithm of the number of free slots; where there is
    /// none, all are copied, and the next [`update_filters`](Self::update_filters) sets all filters.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for a margin that is negative or not finite, and for the number of a body or a parent from 2³¹ on, and
    /// for the world 2³² − 1;
    /// [`Error::TooManyBoxes`] beyond 2²⁵ slots. Nothing is changed then.
    pub fn insert(&mut self, aabb: Aabb, filter: BoxFilter) -> Result<Handle, Error> {
        let index = self.free.peek().map_or(self.fresh, |Reverse(index)| *index);
        filter.check(index as usize)?;
        if index as usize == self.boxes.len() {
            let most = crate::base::constants::MAX_ENTRIES as usize;
            let doubled = (2 * self.boxes.len()).max(FEWEST);
            self.lengthen(if self.boxes.len() < most { doubled.min(most) } else { doubled })?;
        }
        if self.free.pop().is_none() {
            self.fresh += 1;
        }
        self.len += 1;
        self.boxes[index as usize] = aabb;
        self.generations[index as usize] += 1;
        self.put_filter(index as usize, &filter);
        Ok(Handle { index, generation: self.generations[index as usize] })
    }

    /// Removes a box, and returns it; `None` where the handle is stale. The slot keeps the filter values until it is used again.
    pub fn remove(&mut self, handle: Handle) -> Option<Aabb> {
        let index = self.find(handle)?;
        self.len -= 1;
        // The slot of a box with the largest generation is not used again, so that no handle returns.
        self.generations[index] = self.generations[index].wrapping_add(1);
        if self.generations[index] > 0 {
            self.free.push(Reverse(handle.index));
        }
        Some(std::mem::replace(&mut self.boxes[index], NO_BOX))
    }

    /// Returns a box; `None` where the handle is stale.
    pub fn get(&self, handle: Handle) -> Option<&Aabb> {
        self.find(handle).map(|index| &self.boxes[index])
    }

    /// Moves a box.
    ///
    /// # Errors
    /// [`Error::StaleHandle`].
    pub fn set(&mut self, handle: Handle, aabb: Aabb) -> Result<(), Error> {
        let index = self.find(handle).ok_or(handle.stale())?;
        self.boxes[index] = aabb;
        Ok(())
    }

    /// Returns the filter values of a box; `None` where the handle is stale.
    pub fn filter(&self, handle: Handle) -> Option<BoxFilter> {
        let index = self.find(handle)?;
        let filter = self.filters.of_one(index);
        Some(if filter.body >= Some(OWN_BODIES) { filter.with_body(None) } else { filter })
    }

    /// Changes the filter values of a box.
    ///
    /// # Errors
    /// [`Error::StaleHandle`], and [`Error::BadFilter`] as [`insert`](Self::insert); nothing is changed then.
    pub fn set_filter(&mut self, handle: Handle, filter: BoxFilter) -> Result<(), Error> {
        let index = self.find(handle).ok_or(handle.stale())?;
        filter.check(index)?;
        self.put_filter(index, &filter);
        Ok(())
    }

    /// Returns the handle of the box in a slot; `None` where the slot is free or does not exist. The boxes of `created`, `persisting` and
    /// all `pairs` of a step are found with it, as long as no box was removed since.
    pub fn handle_of(&self, index: u32) -> Option<Handle> {
        handle_of(&self.generations, index)
    }

    /// Returns the handle of the box that a slot had in the step before the newest one. Use it for `lost` pairs: their boxes may be removed, and the
    /// slots used again. Steps are those of [`find_events`](Self::find_events) and [`mark_step`](Self::mark_step), of one engine: if several engines
    /// share the slots, one of them follows the steps.
    pub fn last_handle_of(&self, index: u32) -> Option<Handle> {
        handle_of(&self.marked[1], index)
    }

    /// Lists all boxes with their handles, ascending by slot.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &Aabb)> {
        let slots = (0..).zip(self.boxes.iter().zip(&self.generations));
        slots
            .filter(|(_, (_, generation))| *generation % 2 == 1)
            .map(|(index, (aabb, &generation))| (Handle { index, generation }, aabb))
    }

    /// Lists all boxes with their handles, ascending by slot, to be moved.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut Aabb)> {
        let slots = (0..).zip(self.boxes.iter_mut().zip(&self.generations));
        slots
            .filter(|(_, (_, generation))| *generation % 2 == 1)
            .map(|(index, (aabb, &generation))| (Handle { index, generation }, aabb))
    }

    /// Returns the number of boxes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns `[slot]` the box of each slot, a NaN box where it is free. A GPU buffer of boxes has these 24 bytes each.
    pub fn boxes(&self) -> &[Aabb] {
        &self.boxes
    }

    /// Returns `[slot]` the generation of each slot: the numbers of
    /// [`Identity::Generations`](crate::step::Identity::Generations) and of
    /// [`GpuIdentity::Generations`](crate::record::GpuIdentity::Generations). It is odd where the slot has a box, and
    /// grows by one where a box comes or goes.
    pub fn generations(&self) -> &[u32] {
        &self.generations
    }

    /// Returns the boxes and generations as a step, for calls other than [`find_events`](Self::find_events).
    pub fn step(&self) -> Step<'_> {
        Step::new(&self.boxes).with_generations(&self.generations)
    }

    /// Takes note that the boxes of now are a step: [`last_handle_of`](Self::last_handle_of) returns handles of the step before.
    /// [`find_events`](Self::find_events) does so; call it where a step was recorded or submitted.
    pub fn mark_step(&mut self) {
        self.marked.swap(0, 1);
        self.marked[0].clone_from(&self.generations);
    }

    /// Updates the filters of an engine, a recorder or a tree to those of the slots, with as few changes as possible. All that is not by box (rule,
    /// excluded and included pairs, half-spaces, owner region) stays as it is set there; it names slots by index, and does not follow a box that is
    /// removed. Several engines and trees may have the same slots.
    ///
    /// The cost is that of comparing the lists in use, and of a [`change_filters`](Engine::change_filters) for each run
    /// of slots that differ. Where the number of slots has changed, or a list is used for the first time, all filters
    /// are set: an engine on the CPU then searches all boxes once. A box in another world than the last one in its slot
    /// has the same effect there. After another world or margin a tree is to be built again.
    ///
    /// # Errors
    /// Those of `change_filters` and `set_filters` there. A part of the values may be changed then; call it again.
    pub fn update_filters(&self, target: &mut impl HasFilters) -> Result<(), Error> {
        target.update_lists(&self.filters)
    }

    /// Updates the filters of an engine, and finds what began and what ended since its last step. Lost pairs have slots of that step
    /// ([`last_handle_of`](Self::last_handle_of)).
    ///
    /// # Errors
    /// Those of [`update_filters`](Self::update_filters) and [`Engine::find_events`]. A step that was refused does not count.
    pub fn find_events<'a>(&mut self, engine: &'a mut impl Engine) -> Result<&'a Events, Error> {
        self.update_filters(engine)?;
        let events = engine.find_events(self.step())?;
        self.mark_step();
        Ok(events)
    }

    /// Returns the slot of a handle that is not stale.
    fn find(&self, handle: Handle) -> Option<usize> {
        (self.handle_of(handle.index)? == handle).then_some(handle.index as usize)
    }

    fn lengthen(&mut self, capacity: usize) -> Result<(), Error> {
        checked_count(capacity)?;
        self.boxes.resize(capacity, NO_BOX);
        self.generations.resize(capacity, 0);
        self.filters.lengthen(capacity);
        self.number_own_bodies();
        Ok(())
    }

    fn put_filter(&mut self, index: usize, filter: &BoxFilter) {
        let had_bodies = !self.filters.body.is_empty();
        self.filters.set_of_one(index, self.boxes.len(), filter);
        if !self.filters.parent.is_empty() && self.filters.body.is_empty() {
            // Without a list of bodies, parents would be indices of boxes.
            self.filters.body.resize(self.boxes.len(), OWN_BODY);
        }
        if !had_bodies {
            self.number_own_bodies();
        } else if filter.body.is_none() {
            self.filters.body[index] = OWN_BODIES + index as u32;
        }
    }

    /// Gives each box without a body a number that no other has.
    fn number_own_bodies(&mut self) {
        for (own, body) in (OWN_BODIES..).zip(&mut self.filters.body) {
            *body = if *body == OWN_BODY { own } else { *body };
        }
    }
}

fn handle_of(generations: &[u32], index: u32) -> Option<Handle> {
    let generation = *generations.get(index as usize)?;
    (generation % 2 == 1).then_some(Handle { index, generation })
}
