//! How fast boxes move, of a sample: whether an epoch is worth it, and how far its boxes are grown.

use std::mem::take;

use crate::Aabb;

/// How many speeds are told apart: an edge a step, a half, a quarter, and so on.
pub const SPEEDS: usize = 10;

/// Boxes that are looked at.
const SAMPLE: usize = 1 << 10;
/// Boxes whose edges are looked at to find what is usual.
const EDGES: usize = 1 << 8;

/// The boxes of a sample in the last step.
#[derive(Debug, Default)]
pub struct Sample {
    boxes: Vec<Aabb>,
    /// How many boxes there were in all.
    of: usize,
    /// Whether they are those of an earlier step.
    is_old: bool,
}

/// How fast the boxes of a sample move.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speeds {
    /// Whether there were as many boxes in the last step. Otherwise all count as fast.
    pub are_known: bool,
    /// The usual edge of a box.
    pub edge: f32,
    /// Boxes that are looked at.
    pub count: u32,
    /// Those that moved by the usual edge or more, by a half of it to the whole, by a quarter to a half, and so on. The last number
    /// counts all that are slower.
    pub counts: [u32; SPEEDS],
}

impl Speeds {
    /// Returns the speeds of boxes of which hardly any moves.
    pub fn of_few(boxes: &[Aabb]) -> Self {
        let mut counts = [0; SPEEDS];
        counts[SPEEDS - 1] = 1;
        Self { are_known: true, edge: usual_edge(boxes), count: 1, counts }
    }
}

impl Sample {
    /// Takes the boxes of a step in place of those of the last one, which are `last` where steps were [skipped](Self::skip). Other boxes
    /// than those have moved as fast as can be.
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

    /// Leaves out a step, whose speeds nobody asks for.
    pub fn skip(&mut self) {
        self.is_old = true;
    }

    /// Forgets the last step.
    pub fn forget(&mut self) {
        (self.of, self.is_old) = (0, false);
    }
}

/// Returns so many boxes from all over the list, the same of every list of this length. Their places are multiples of the golden
/// section: in even distances they would be in step with whatever is regular in the list.
fn sample(boxes: &[Aabb], count: usize) -> impl Iterator<Item = &Aabb> {
    const SECTION: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = |k: u64| ((u128::from(k.wrapping_mul(SECTION)) * boxes.len() as u128) >> 64) as usize;
    (0..count as u64).map(move |k| &boxes[place(k)])
}

/// Returns which of [`Speeds::counts`] a way is, in usual edges: by its exponent.
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
