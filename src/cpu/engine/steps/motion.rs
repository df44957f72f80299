//! Where boxes are, and what each did since the last step: one look at every box.

use rayon::prelude::*;

use crate::constants::INVALID_LISTED;
use crate::filters::CheckedFilters;
use crate::{Aabb, Options, StepReport};

/// The box is not where it was, or the filters changed for it.
pub const MOVED: u8 = 1;
/// The box has left its grown box since the epoch began: its pairs are no longer among those of the epoch.
pub const ESCAPED: u8 = 2;
/// The box has left its grown box in this step.
pub const FRESH: u8 = 4;
/// The filters have changed for the box since the last step.
pub const REFILTERED: u8 = 8;

/// A box that is not there.
pub const NO_BOX: Aabb = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);

/// How many speeds are told apart: an edge a step, a half, a quarter, and so on.
pub const SPEEDS: usize = 10;

/// Boxes that a thread looks at at a time.
const CHUNK: usize = 1 << 12;
/// The most boxes that one thread looks at.
pub const ALONE: usize = 1 << 14;
/// Boxes whose edges are looked at to find what is usual.
const SAMPLE: usize = 1 << 8;

/// Boxes of the last step, what each did, and the counts over them.
type Chunk<'a> = ((&'a mut [Aabb], &'a mut [u8]), &'a mut Tally);

/// A step, as it is searched.
#[derive(Clone, Copy, Debug)]
pub struct Searched<'a> {
    pub boxes: &'a [Aabb],
    pub box_count: u32,
    /// With canonical order.
    pub options: &'a Options,
    /// Whether the pairs of the last step are at hand: where no box moves, they are not listed again.
    pub may_stay: bool,
    pub filters: &'a CheckedFilters,
}

/// Counts over some boxes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Boxes that moved.
    pub moved: u32,
    /// Boxes that left their grown boxes in this step.
    pub fresh: u32,
    /// Boxes that are invalid.
    pub invalid: u32,
    /// Boxes that moved by the usual edge or more, by a half of it to the whole, by a quarter to a half, and so on. The last number
    /// counts all that are slower.
    pub speeds: [u32; SPEEDS],
}

impl Tally {
    fn united(self, other: &Self) -> Self {
        Self {
            moved: self.moved + other.moved,
            fresh: self.fresh + other.fresh,
            invalid: self.invalid + other.invalid,
            speeds: std::array::from_fn(|k| self.speeds[k] + other.speeds[k]),
        }
    }
}

/// The boxes of the last step, and what they did.
#[derive(Debug, Default)]
pub struct Motion {
    /// The boxes as they are searched; during an epoch with [`NO_BOX`] in place of those that are gone.
    pub boxes: Vec<Aabb>,
    /// What each did, bits.
    pub states: Vec<u8>,
    tallies: Vec<Tally>,
}

impl Motion {
    /// Takes the boxes of a step in place of those of the last one. During an epoch, `fat` has the grown boxes of all that were
    /// ever there; otherwise it is empty. `unit` is what speeds are measured by.
    pub fn observe(&mut self, boxes: &[Aabb], fat: &mut Vec<Aabb>, unit: f32) -> Tally {
        let is_epoch = !fat.is_empty();
        let extent = if is_epoch { boxes.len().max(self.boxes.len()) } else { boxes.len() };
        self.boxes.resize(extent, NO_BOX);
        self.states.resize(extent, 0);
        if is_epoch {
            fat.resize(extent, NO_BOX);
            // Should a box come back, it is a new one.
            fat[boxes.len()..].fill(NO_BOX);
        }
        self.tallies.clear();
        self.tallies.resize(extent.div_ceil(CHUNK), Tally::default());
        let look = |(chunk, ((last, states), tally)): (usize, Chunk<'_>)| {
            let first = chunk * CHUNK;
            let fat = fat.get(first..).unwrap_or_default();
            *tally = observe(boxes.get(first..).unwrap_or_default(), last, states, fat, unit);
        };
        let chunks = self.boxes.par_chunks_mut(CHUNK).zip(self.states.par_chunks_mut(CHUNK));
        if extent <= ALONE {
            // One thread is done before another would be awake.
            let chunks = self.boxes.chunks_mut(CHUNK).zip(self.states.chunks_mut(CHUNK));
            chunks.zip(&mut self.tallies).enumerate().for_each(look);
        } else {
            chunks.zip(&mut self.tallies).enumerate().for_each(look);
        }
        self.tallies.iter().fold(Tally::default(), Tally::united)
    }

    /// Lists the boxes that left their grown boxes in this step, ascending.
    pub fn list_fresh(&self, to: &mut Vec<u32>) {
        to.clear();
        for ((states, tally), first) in self.states.chunks(CHUNK).zip(&self.tallies).zip((0..).step_by(CHUNK)) {
            if tally.fresh > 0 {
                to.extend((first..).zip(states).filter(|(_, state)| **state & FRESH != 0).map(|(i, _)| i));
            }
        }
    }

    /// Makes the report on this step, as far as it concerns boxes.
    pub fn report(&self, box_count: u32, tally: &Tally) -> StepReport {
        let mut report = StepReport { box_count, invalid_count: tally.invalid, ..StepReport::default() };
        if tally.invalid > 0 {
            let boxes = (0..box_count).zip(&self.boxes);
            let invalid = boxes.filter(|(_, aabb)| !aabb.is_valid()).map(|(i, _)| i);
            report.first_invalid.extend(invalid.take(INVALID_LISTED as usize));
        }
        report
    }

    /// Notes that the filters have changed for some boxes.
    pub fn refilter(&mut self, first: usize, count: usize) {
        self.states.iter_mut().skip(first).take(count).for_each(|state| *state |= REFILTERED);
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        self.boxes.capacity() * size_of::<Aabb>()
            + self.states.capacity()
            + self.tallies.capacity() * size_of::<Tally>()
    }
}

/// Takes boxes in place of the last ones. There may be fewer now than there were; `fat` is empty outside of an epoch.
fn observe(boxes: &[Aabb], last: &mut [Aabb], states: &mut [u8], fat: &[Aabb], unit: f32) -> Tally {
    let mut tally = Tally::default();
    let per_unit = unit.recip();
    for (i, (then, state)) in last.iter_mut().zip(states).enumerate() {
        let now = boxes.get(i).unwrap_or(&NO_BOX);
        let is_valid = (0..3).fold(true, |is_valid, k| is_valid & (now.min[k] <= now.max[k]));
        tally.invalid += u32::from(!is_valid && i < boxes.len());
        let was_touched = *state & REFILTERED != 0;
        *state &= ESCAPED;
        let stays = bits(now) == bits(then);
        if stays && !was_touched {
            continue;
        }
        *state |= MOVED;
        if i >= boxes.len() {
            // A box that is gone leaves too, but asks for nothing.
            *state |= ESCAPED;
        } else if let Some(fat) = fat.get(i) {
            // What is invalid has no pairs to look for, until it is not.
            let leaves = was_touched || is_valid && !holds(fat, now);
            *state |= if leaves { FRESH | ESCAPED } else { 0 };
            tally.fresh += u32::from(leaves);
        }
        if !stays {
            tally.moved += u32::from(i < boxes.len());
            tally.speeds[speed(way(then, now) * per_unit)] += 1;
            *then = *now;
        }
    }
    tally
}

fn bits(aabb: &Aabb) -> [u64; 3] {
    bytemuck::cast(*aabb)
}

/// Returns whether a box lies in another.
fn holds(outer: &Aabb, inner: &Aabb) -> bool {
    (0..3).fold(true, |holds, k| holds & (outer.min[k] <= inner.min[k]) & (inner.max[k] <= outer.max[k]))
}

/// Returns which of the [`Tally::speeds`] a way is, in usual edges: by its exponent.
fn speed(way: f32) -> usize {
    let exponent = (way.to_bits() >> 23 & 0xff) as i32 - 127;
    (-exponent).clamp(0, SPEEDS as i32 - 1) as usize
}

/// Returns how far the face went that went furthest. Infinite faces that stay, and what is not a number, do not count.
fn way(then: &Aabb, now: &Aabb) -> f32 {
    let ways = (0..3).map(|k| [(now.min[k] - then.min[k]).abs(), (now.max[k] - then.max[k]).abs()]);
    ways.flatten().fold(0.0, f32::max)
}

/// Returns the usual edge of boxes: the median of a sample's longest edges; zero where none is finite.
pub fn usual_edge(boxes: &[Aabb]) -> f32 {
    let mut edges = [0.0; SAMPLE];
    let mut count = 0;
    for aabb in boxes.iter().step_by(boxes.len().div_ceil(SAMPLE).max(1)).filter(|aabb| aabb.is_valid()) {
        let edge = (0..3).map(|k| aabb.max[k] - aabb.min[k]).fold(0.0, f32::max);
        if edge.is_finite() {
            edges[count] = edge;
            count += 1;
        }
    }
    let edges = &mut edges[..count];
    if edges.is_empty() { 0.0 } else { *edges.select_nth_unstable_by(count / 2, f32::total_cmp).1 }
}
