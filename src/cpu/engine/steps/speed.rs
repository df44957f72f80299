//! The speeds of a sample of boxes. They determine whether an epoch begins, and its margin.

use std::mem::take;

use crate::Aabb;

/// Classes of speeds: an edge per step, a half, a quarter, and so on.
pub const SPEEDS: usize = 10;

/// Boxes of the sample.
const SAMPLE: usize = 1 << 10;
/// Boxes of the sample for the usual edge.
const EDGES: usize = 1 << 8;

/// The boxes of a sample in the last step.
#[derive(Debug, Default)]
pub struct Sample {
    boxes: Vec<Aabb>,
    /// The count of all boxes.
    of: usize,
    /// True if the sample is older than the last step.
    is_old: bool,
}

/// The speeds of the boxes of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speeds {
    /// True if the last step had the same box count. Otherwise all boxes count as fast.
    pub are_known: bool,
    /// The usual edge of a box.
    pub edge: f32,
    /// Boxes of the sample.
    pub count: u32,
    /// Boxes that moved by the usual edge or more, by a half to the whole, by a quarter to a half, and so on. The last
    /// element counts all slower boxes.
    pub counts: [u32; SPEEDS],
}

impl Speeds {
    /// Returns the speeds of a step in which hardly any box moves, without a sample: all boxes count as slowest.
    pub fn of_few(boxes: &[Aabb]) -> Self {
        let mut counts = [0; SPEEDS];
        counts[SPEEDS - 1] = 1;
        Self { are_known: true, edge: usual_edge(boxes), count: 1, counts }
    }
}

impl Sample {
    /// Compares the sample with the last step, and stores it. If steps were [skipped](Self::skip), `last` has the boxes
    /// of the last step. If the box count changed, all boxes count as fastest.
    pub fn speeds(&mut self, boxes: &[Aabb], last: &[Aabb]) -> Speeds {
        if take(&mut self.is_old) {
            self.boxes.clear();
            self.boxes.extend(sample(last, last.len().min(SAMPLE)));
            self.of = last.len();
        }
        let count = boxes.len().min(SAMPLE);
        let mut speeds = Speeds { edge: usual_edge(boxes), count: count as u32, ..Speeds::default() };
        let sample = sample(boxes, count);
        speeds.are_known = self.of == boxes.len();
        if speeds.are_known {
            let per_edge = speeds.edge.recip();
            for (now, then) in sample.zip(&mut self.boxes) {
                speeds.counts[speed(way(then, now) * per_edge)] += 1;
                *then = *now;
            }
        } else {
            speeds.counts[0] = speeds.count;
            self.boxes.clear();
            self.boxes.extend(sample);
            self.of = boxes.len();
        }
        speeds
    }

    /// Skips a step whose speeds are not needed.
    pub fn skip(&mut self) {
        self.is_old = true;
    }

    /// Forgets the last step.
    pub fn forget(&mut self) {
        (self.of, self.is_old) = (0, false);
    }
}

/// Returns `count` boxes spread over the list, at the same places in every list of this length. The places are
/// multiples of the golden section, since even distances could coincide with a period of the list.
fn sample(boxes: &[Aabb], count: usize) -> impl Iterator<Item = &Aabb> {
    const SECTION: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = |k: u64| ((u128::from(k.wrapping_mul(SECTION)) * boxes.len() as u128) >> 64) as usize;
    (0..count as u64).map(move |k| &boxes[place(k)])
}

/// Returns the index in [`Speeds::counts`] of a distance in usual edges: by its exponent.
fn speed(way: f32) -> usize {
    let exponent = (way.to_bits() >> 23 & 0xff) as i32 - 127;
    (-exponent).clamp(0, SPEEDS as i32 - 1) as usize
}

/// Returns the largest distance that a face moved. Infinite faces that stay, and NaNs, do not count.
fn way(then: &Aabb, now: &Aabb) -> f32 {
    let ways = (0..3).map(|k| [(now.min[k] - then.min[k]).abs(), (now.max[k] - then.max[k]).abs()]);
    ways.flatten().fold(0.0, f32::max)
}

/// Returns the usual edge of boxes: the median of a sample's longest edges; zero if none is finite.
fn usual_edge(boxes: &[Aabb]) -> f32 {
    let mut edges = [0.0; EDGES];
    let mut count = 0;
    for aabb in sample(boxes, boxes.len().min(EDGES)).filter(|aabb| aabb.is_valid()) {
        let edge = (0..3).map(|k| aabb.max[k] - aabb.min[k]).fold(0.0, f32::max);
        if edge.is_finite() {
            edges[count] = edge;
            count += 1;
        }
    }
    let edges = &mut edges[..count];
    if edges.is_empty() { 0.0 } else { *edges.select_nth_unstable_by(count / 2, f32::total_cmp).1 }
}
