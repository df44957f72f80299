//! [`Slots`]: a list of boxes with insertion and removal. A handle identifies each box.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::cpu::call::checked_count;
use crate::engine::HasFilters;
use crate::{Aabb, BoxFilter, Engine, Error, Events, Filters, Step};

/// Body numbers from this value on belong to boxes without a body.
const OWN_BODIES: u32 = 1 << 31;
/// The body number of a new box without a body, before the box gets a distinct number.
const OWN_BODY: u32 = u32::MAX;
/// The least slot count, unless it is 0.
const FEWEST: usize = 64;
/// The box of a free slot.
const NO_BOX: Aabb = Aabb::new([f32::NAN; 3], [f32::NAN; 3]);

impl BoxFilter {
    /// Checks the filter values of a box.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    fn check(&self, index: usize) -> Result<(), Error> {
        Filters::default()
            .with_margin(vec![self.margin])
            .with_sphere(self.sphere.into_iter().collect())
            .check_values()
            .map_err(|error| match error {
                Error::BadFilter { list, problem, .. } => Error::BadFilter { list, index: Some(index as u64), problem },
                other => other,
            })?;
        let numbers =
            [("body", self.body, OWN_BODIES), ("parent", self.parent, OWN_BODIES), ("world", self.world, u32::MAX)];
        for (list, number, end) in numbers {
            if let Some(number) = number.filter(|&number| number >= end) {
                let problem = format!("is {number}; with `Slots` it must be below {end}, or `None`");
                return Err(Error::BadFilter { list, index: Some(index as u64), problem });
            }
        }
        Ok(())
    }
}

/// Identifies a box of [`Slots`] until it is removed. No other box ever has the same handle.
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

/// A list of boxes with insertion and removal. Each box has one slot until it is removed; the index of the slot is the
/// index of the box in pairs. A free slot has a NaN box, which overlaps nothing. So a removal moves no other box.
///
/// `Slots` is plain data on the host. [`find_events`](Self::find_events) passes boxes, generations and
/// [filters](BoxFilter) to an engine. Pairs of a removed box are `lost`, and pairs of an inserted box are `created`.
/// This also holds if the inserted box reuses the slot of a box removed in the same step. For queries and recordings,
/// call [`update_filters`](Self::update_filters) on a tree or a [`Recorder`](crate::Recorder) and use
/// [`boxes`](Self::boxes) and [`generations`](Self::generations).
///
/// Free slots are reused, the lowest index first. If all are in use, the slot count doubles, up to 2²⁵; it never
/// decreases. Reports count free slots as invalid boxes. Memory: 36 bytes per slot. A list by box is stored if some box
/// has a value other than the default. It takes 4 bytes per slot, 1 for a flag, or 16 for a sphere.
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
    /// Odd if the slot has a box. A handle is valid if its generation equals the slot's.
    generations: Vec<u32>,
    /// Free slots that had a box. Slots from `fresh` on never had one.
    free: BinaryHeap<Reverse<u32>>,
    fresh: u32,
    len: usize,
    /// The lists by box.
    filters: Filters,
    /// The generations at the last marked step, and at the step before it.
    marked: [Vec<u32>; 2],
}

impl Slots {
    /// Creates this many slots. The slot count does not change before all slots are in use.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`] beyond 2²⁵.
    pub fn with_capacity(capacity: usize) -> Result<Self, Error> {
        let mut slots = Self::default();
        slots.lengthen(capacity)?;
        Ok(slots)
    }

    /// Inserts a box with its filter values, and returns its handle. Cost: the logarithm of the count of free slots.
    /// Without a free slot, all slots are copied, and the next [`update_filters`](Self::update_filters) replaces all
    /// filters.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if a margin is negative or not finite, a body or a parent is 2³¹ or more, or the world is
    /// 2³² − 1; [`Error::TooManyBoxes`] beyond 2²⁵ slots. After an error nothing is changed.
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

    /// Removes a box, and returns it; `None` if the handle is stale. The slot retains its filter values until it is
    /// reused.
    pub fn remove(&mut self, handle: Handle) -> Option<Aabb> {
        let index = self.find(handle)?;
        self.len -= 1;
        // A slot at the largest generation is not reused, so that no handle repeats.
        self.generations[index] = self.generations[index].wrapping_add(1);
        if self.generations[index] > 0 {
            self.free.push(Reverse(handle.index));
        }
        Some(std::mem::replace(&mut self.boxes[index], NO_BOX))
    }

    /// Returns a box; `None` if the handle is stale.
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

    /// Returns the filter values of a box; `None` if the handle is stale.
    pub fn filter(&self, handle: Handle) -> Option<BoxFilter> {
        let index = self.find(handle)?;
        let filter = self.filters.of_one(index);
        Some(if filter.body >= Some(OWN_BODIES) { filter.with_body(None) } else { filter })
    }

    /// Changes the filter values of a box.
    ///
    /// # Errors
    /// [`Error::StaleHandle`], and [`Error::BadFilter`] as [`insert`](Self::insert); then nothing is changed.
    pub fn set_filter(&mut self, handle: Handle, filter: BoxFilter) -> Result<(), Error> {
        let index = self.find(handle).ok_or(handle.stale())?;
        filter.check(index)?;
        self.put_filter(index, &filter);
        Ok(())
    }

    /// Returns the handle of the box in a slot; `None` if the slot is free or does not exist. Use it for boxes of
    /// `created`, `persisting` and `pairs` of a step, unless a box was removed since.
    pub fn handle_of(&self, index: u32) -> Option<Handle> {
        handle_of(&self.generations, index)
    }

    /// Returns the handle of the box that a slot had in the step before the newest one. Use it for `lost` pairs: their
    /// boxes may have been removed, and their slots reused. Steps are calls of [`find_events`](Self::find_events) and
    /// [`mark_step`](Self::mark_step). If several engines share the slots, call
    /// [`find_events`](Self::find_events) for one of them only.
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

    /// Lists all boxes, mutable, with their handles, ascending by slot.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut Aabb)> {
        let slots = (0..).zip(self.boxes.iter_mut().zip(&self.generations));
        slots
            .filter(|(_, (_, generation))| *generation % 2 == 1)
            .map(|(index, (aabb, &generation))| (Handle { index, generation }, aabb))
    }

    /// Returns the box count.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the box of each slot, `[slot]`; a NaN box if the slot is free. The layout is the layout of a GPU buffer
    /// of boxes, 24 bytes each.
    pub fn boxes(&self) -> &[Aabb] {
        &self.boxes
    }

    /// Returns the generation of each slot, `[slot]`: the list for
    /// [`Identity::Generations`](crate::step::Identity::Generations) and
    /// [`GpuIdentity::Generations`](crate::record::GpuIdentity::Generations). It is odd if the slot has a box, and
    /// grows by one when a box is inserted or removed.
    pub fn generations(&self) -> &[u32] {
        &self.generations
    }

    /// Returns the boxes and generations as a step, for calls other than [`find_events`](Self::find_events).
    pub fn step(&self) -> Step<'_> {
        Step::new(&self.boxes).with_generations(&self.generations)
    }

    /// Marks the current boxes as a step, for [`last_handle_of`](Self::last_handle_of).
    /// [`find_events`](Self::find_events) does this itself; call it after a step that was recorded or submitted.
    pub fn mark_step(&mut self) {
        self.marked.swap(0, 1);
        self.marked[0].clone_from(&self.generations);
    }

    /// Updates the lists by box of an engine, a recorder or a tree to the values of the slots, with as few changes as
    /// possible. Other filters (rule, excluded and included pairs, half-spaces, owner region) do not change. These
    /// filters refer to slots by index, so update them after a removal. Several engines and trees may share the slots.
    ///
    /// Cost: a comparison of the lists in use, and a [`change_filters`](Engine::change_filters) per run of different
    /// values. If the slot count has changed, or a list is used for the first time, all filters are replaced. Then the
    /// next step of the CPU engine searches all boxes. It also searches all boxes after a change of a world. After a
    /// change of a world or a margin, a tree must be built again.
    ///
    /// # Errors
    /// The errors of `change_filters` and `set_filters` of the target. After an error, some values may be changed; call
    /// this method again.
    pub fn update_filters(&self, target: &mut impl HasFilters) -> Result<(), Error> {
        target.update_lists(&self.filters)
    }

    /// Updates the filters of an engine, and finds the events since its last step. Lost pairs have slots of that step
    /// ([`last_handle_of`](Self::last_handle_of)).
    ///
    /// # Errors
    /// The errors of [`update_filters`](Self::update_filters) and [`Engine::find_events`]. After an error, the last
    /// step is still the last successful step.
    pub fn find_events<'a>(&mut self, engine: &'a mut impl Engine) -> Result<&'a Events, Error> {
        self.update_filters(engine)?;
        let events = engine.find_events(self.step())?;
        self.mark_step();
        Ok(events)
    }

    /// Returns the slot of a handle; `None` if it is stale.
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
            // Without a list of bodies, parents would be read as box indices.
            self.filters.body.resize(self.boxes.len(), OWN_BODY);
        }
        if !had_bodies {
            self.number_own_bodies();
        } else if filter.body.is_none() {
            self.filters.body[index] = OWN_BODIES + index as u32;
        }
    }

    /// Numbers each box without a body by a number that no other box has.
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
