//! Prepares boxes: pads them by margins, rounded outward, and replaces boxes that stand for half-spaces.

use rayon::prelude::*;

use super::WHOLE_SPACE;
use crate::base::aabb::sum_rounded_up;
use crate::base::constants::CHUNK;
use crate::{Aabb, Filters};

/// A box without points.
pub(crate) const NO_POINTS: Aabb = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);

/// Pads a box by `margin` on each side. Returns the smallest `f32` box that contains the exact padded box.
pub(crate) fn padded(aabb: &Aabb, margin: f32) -> Aabb {
    Aabb {
        min: aabb.min.map(|bound| -sum_rounded_up(-bound, margin)),
        max: aabb.max.map(|bound| sum_rounded_up(bound, margin)),
    }
}

impl Filters {
    /// Returns the prepared boxes: `boxes` itself, or `prepared` if margins or half-spaces change the boxes.
    pub(crate) fn prepared_boxes<'a>(&self, boxes: &'a [Aabb], prepared: &'a mut Vec<Aabb>) -> &'a [Aabb] {
        if self.leaves_boxes() {
            return boxes;
        }
        self.pad_all(0, boxes, prepared);
        self.replace_half_spaces(prepared, WHOLE_SPACE);
        prepared
    }

    /// Returns the boxes of a tree: `boxes` itself, or `prepared` if margins or half-spaces change the boxes. A box
    /// that stands for a half-space becomes a box without points.
    pub(crate) fn boxes_of_tree<'a>(&self, boxes: &'a [Aabb], prepared: &'a mut Vec<Aabb>) -> &'a [Aabb] {
        if self.leaves_boxes() {
            return boxes;
        }
        self.pad_all(0, boxes, prepared);
        self.replace_half_spaces(prepared, NO_POINTS);
        prepared
    }

    /// Returns consecutive boxes from box `first` on, padded by their margins: `boxes` itself, or `padded` if there are
    /// margins.
    pub(crate) fn padded_boxes<'a>(&self, first: usize, boxes: &'a [Aabb], padded: &'a mut Vec<Aabb>) -> &'a [Aabb] {
        if self.margin.is_empty() {
            return boxes;
        }
        self.pad_all(first, boxes, padded);
        padded
    }

    fn pad_all(&self, first: usize, boxes: &[Aabb], padded: &mut Vec<Aabb>) {
        padded.resize(boxes.len(), Aabb::new([0.0; 3], [0.0; 3]));
        padded.par_chunks_mut(CHUNK).zip(boxes.par_chunks(CHUNK)).enumerate().for_each(|(chunk, (to, from))| {
            to.copy_from_slice(from);
            self.pad(first + chunk * CHUNK, to);
        });
    }
}
