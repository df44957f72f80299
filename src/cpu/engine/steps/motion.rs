//! The boxes of the last step, and the motion of each box since then. Cost: one comparison per box.

use std::slice;

use rayon::prelude::*;

use crate::base::constants::INVALID_LISTED;
use crate::filters::CheckedFilters;
use crate::{Aabb, Options, StepReport};

/// The box moved, or its filters changed.
pub const MOVED: u8 = 1;
/// The box has left its padded box since the epoch began: its pairs are no longer among the pairs of the epoch.
pub const LEFT_PADDING: u8 = 2;
/// The box left its padded box in this step.
pub const FRESH: u8 = 4;
/// The filters of the box changed since the last step.
pub const REFILTERED: u8 = 8;

/// A removed box.
pub const NO_BOX: Aabb = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);

/// Boxes that a thread compares at a time.
const CHUNK: usize = 1 << 12;
/// The most boxes that one thread compares alone.
pub const ALONE: usize = 1 << 14;

/// Boxes of the last step, their states, and their counts.
type MotionChunk<'a> = ((&'a mut [Aabb], &'a mut [u8]), &'a mut Tally);

/// The input of the search of a step.
#[derive(Clone, Copy, Debug)]
pub struct Searched<'a> {
    pub boxes: &'a [Aabb],
    pub box_count: u32,
    /// The options, with canonical order.
    pub options: &'a Options,
    /// True if the pairs of the last step are available: if no box moves, they are not listed again.
    pub may_stay: bool,
    /// True if the changes of the list of pairs suffice as a result.
    pub may_change: bool,
    /// All boxes that may have moved since the stored boxes of the last step, if known.
    pub moved: Option<&'a [u32]>,
    pub filters: &'a CheckedFilters,
}

/// Counts over some boxes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Boxes that moved.
    pub moved: u32,
    /// Boxes that left their padded boxes in this step.
    pub fresh: u32,
    /// Boxes that are invalid.
    pub invalid: u32,
}

impl Tally {
    fn united(self, other: &Self) -> Self {
        Self { moved: self.moved + other.moved, fresh: self.fresh + other.fresh, invalid: self.invalid + other.invalid }
    }
}

/// The boxes of the last step, and their states.
#[derive(Debug, Default)]
pub struct Motion {
    /// The boxes as they are searched; during an epoch with [`NO_BOX`] for removed boxes.
    pub boxes: Vec<Aabb>,
    /// The state of each box: a sum of bits such as [`MOVED`].
    pub states: Vec<u8>,
    /// The boxes that moved or left in this step, ascending after [`list_moved`](Self::list_moved).
    pub moved: Vec<u32>,
    /// True if `moved` is complete, in any order.
    is_moved_listed: bool,
    /// Boxes whose filters changed since the last step.
    refiltered: Vec<u32>,
    tallies: Vec<Tally>,
}

impl Motion {
    /// Begins an epoch: all boxes have moved.
    pub fn begin(&mut self, boxes: &[Aabb]) -> Tally {
        self.boxes.clear();
        self.states.clear();
        self.observe(boxes, &mut Vec::new())
    }

    /// Compares the boxes of a step with the boxes of the last step, and stores them. `padded_boxes` has the padded
    /// boxes of all boxes that existed in this epoch; it is empty if an epoch begins.
    pub fn observe(&mut self, boxes: &[Aabb], padded_boxes: &mut Vec<Aabb>) -> Tally {
        self.is_moved_listed = false;
        self.refiltered.clear();
        let is_epoch = !padded_boxes.is_empty();
        let extent = if is_epoch { boxes.len().max(self.boxes.len()) } else { boxes.len() };
        self.boxes.resize(extent, NO_BOX);
        self.states.resize(extent, 0);
        if is_epoch {
            padded_boxes.resize(extent, NO_BOX);
            // A box that appears later at a removed index is a new box.
            padded_boxes[boxes.len()..].fill(NO_BOX);
        }
        self.tallies.clear();
        self.tallies.resize(extent.div_ceil(CHUNK), Tally::default());
        let look = |(chunk, ((last, states), tally)): (usize, MotionChunk<'_>)| {
            let first = chunk * CHUNK;
            let padded_boxes = padded_boxes.get(first..).unwrap_or_default();
            *tally = observe(boxes.get(first..).unwrap_or_default(), last, states, padded_boxes);
        };
        let chunks = self.boxes.par_chunks_mut(CHUNK).zip(self.states.par_chunks_mut(CHUNK));
        if extent <= ALONE {
            // One thread finishes before another would wake up.
            let chunks = self.boxes.chunks_mut(CHUNK).zip(self.states.chunks_mut(CHUNK));
            chunks.zip(&mut self.tallies).enumerate().for_each(look);
        } else {
            chunks.zip(&mut self.tallies).enumerate().for_each(look);
        }
        self.tallies.iter().fold(Tally::default(), Tally::united)
    }

    /// Does the same as [`observe`](Self::observe) for a step with the same box count in which only the boxes `moved`
    /// may have moved.
    pub fn observe_moved(&mut self, boxes: &[Aabb], padded_boxes: &[Aabb], moved: &[u32]) -> Tally {
        let quiet = |state: &mut u8| *state &= LEFT_PADDING | REFILTERED;
        if self.is_moved_listed {
            // Reset the states of the last step: only these boxes moved in it.
            self.moved.iter().for_each(|&i| quiet(&mut self.states[i as usize]));
        } else {
            // Removed boxes have states too.
            self.states.iter_mut().for_each(quiet);
        }
        self.moved.clear();
        for tally in &mut self.tallies {
            *tally = Tally { invalid: tally.invalid, ..Tally::default() };
        }
        for i in self.refiltered.iter().chain(moved).map(|&i| i as usize).filter(|&i| i < boxes.len()) {
            let (tally, state) = (&mut self.tallies[i / CHUNK], &mut self.states[i]);
            let (was, then) = (*state, self.boxes[i]);
            let one = &boxes[i..=i];
            let seen = observe(one, &mut self.boxes[i..=i], slice::from_mut(state), &padded_boxes[i..=i]);
            // If the list has the box twice, its state is set already.
            *state |= was & (MOVED | FRESH);
            if was & MOVED == 0 && *state & MOVED != 0 {
                self.moved.push(i as u32);
            }
            let was_invalid = u32::from(!is_valid(&then));
            tally.moved += seen.moved;
            tally.fresh += seen.fresh;
            tally.invalid = tally.invalid + seen.invalid - was_invalid;
        }
        self.is_moved_listed = true;
        self.refiltered.clear();
        self.tallies.iter().fold(Tally::default(), Tally::united)
    }

    /// Lists the boxes that left their padded boxes in this step, ascending.
    pub fn list_fresh(&self, to: &mut Vec<u32>) {
        to.clear();
        for ((states, tally), first) in self.states.chunks(CHUNK).zip(&self.tallies).zip((0..).step_by(CHUNK)) {
            if tally.fresh > 0 {
                to.extend((first..).zip(states).filter(|(_, state)| **state & FRESH != 0).map(|(i, _)| i));
            }
        }
    }

    /// Lists the boxes that moved or left in this step.
    pub fn list_moved(&mut self) {
        if self.is_moved_listed {
            return self.moved.sort_unstable();
        }
        self.moved.clear();
        // Test eight boxes at a time, since usually none of them moved.
        const EIGHT: u64 = u64::from_ne_bytes([MOVED; 8]);
        for (eight, first) in self.states.chunks(8).zip((0..).step_by(8)) {
            let is_any = eight.try_into().map_or(true, |eight| u64::from_ne_bytes(eight) & EIGHT != 0);
            if is_any {
                let moved = (first..).zip(eight).filter(|(_, state)| **state & MOVED != 0).map(|(i, _)| i);
                self.moved.extend(moved);
            }
        }
        self.is_moved_listed = true;
    }

    /// Creates the part of the report on boxes.
    pub fn report(&self, box_count: u32, tally: &Tally) -> StepReport {
        let mut report = StepReport { box_count, invalid_count: tally.invalid, ..StepReport::default() };
        if tally.invalid > 0 {
            let boxes = (0..box_count).zip(&self.boxes);
            let invalid = boxes.filter(|(_, aabb)| !aabb.is_valid()).map(|(i, _)| i);
            report.first_invalid.extend(invalid.take(INVALID_LISTED as usize));
        }
        report
    }

    /// Marks boxes whose filters changed.
    pub fn refilter(&mut self, first: usize, count: usize) {
        for (i, state) in (0..).zip(&mut self.states).skip(first).take(count) {
            if *state & REFILTERED == 0 {
                *state |= REFILTERED;
                self.refiltered.push(i);
            }
        }
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.boxes.capacity() * size_of::<Aabb>()
            + self.states.capacity()
            + (self.refiltered.capacity() + self.moved.capacity()) * size_of::<u32>()
            + self.tallies.capacity() * size_of::<Tally>()
    }
}

/// Compares boxes with the boxes of the last step, and stores them. There may be fewer boxes than in the last step.
/// `padded_boxes` is empty if an epoch begins.
fn observe(boxes: &[Aabb], last: &mut [Aabb], states: &mut [u8], padded_boxes: &[Aabb]) -> Tally {
    let mut tally = Tally::default();
    for (i, (then, state)) in last.iter_mut().zip(states).enumerate() {
        let now = boxes.get(i).unwrap_or(&NO_BOX);
        let is_valid = is_valid(now);
        tally.invalid += u32::from(!is_valid && i < boxes.len());
        let was_touched = *state & REFILTERED != 0;
        *state &= LEFT_PADDING;
        let stays = bits(now) == bits(then);
        if stays && !was_touched {
            continue;
        }
        *state |= MOVED;
        if i >= boxes.len() {
            // A removed box leaves its padding too, but queries nothing.
            *state |= LEFT_PADDING;
        } else if let Some(padded_box) = padded_boxes.get(i) {
            // An invalid box has no pairs.
            let leaves = was_touched || is_valid && !contains(padded_box, now);
            *state |= if leaves { FRESH | LEFT_PADDING } else { 0 };
            tally.fresh += u32::from(leaves);
        }
        if !stays {
            tally.moved += u32::from(i < boxes.len());
            *then = *now;
        }
    }
    tally
}

/// Returns whether a box is valid, without a branch.
fn is_valid(aabb: &Aabb) -> bool {
    (0..3).fold(true, |is_valid, k| is_valid & (aabb.min[k] <= aabb.max[k]))
}

fn bits(aabb: &Aabb) -> [u64; 3] {
    bytemuck::cast(*aabb)
}

/// Returns whether a box contains another.
fn contains(outer: &Aabb, inner: &Aabb) -> bool {
    (0..3).fold(true, |is_inside, k| is_inside & (outer.min[k] <= inner.min[k]) & (inner.max[k] <= outer.max[k]))
}
