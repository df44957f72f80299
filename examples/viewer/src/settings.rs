//! Settings that can change between frames.

use broadsweep::{CellSize, Options, PairOrder, SweepAxis};

use crate::scene::Kind;

/// The valid box counts.
pub const BOXES: std::ops::RangeInclusive<u32> = 2..=4_000_000;

/// The pairs to draw as lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// None.
    None,
    /// Recently created or lost pairs.
    New,
    /// All.
    All,
}

/// Settings that can change between frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The scene.
    pub kind: Kind,
    /// The approximate box count.
    pub box_count: u32,
    /// True if created and lost pairs are found too.
    pub has_events: bool,
    /// The axis of the sweep.
    pub axis: SweepAxis,
    /// The edge of a cell, in the units of the scene.
    pub cell_size: CellSize,
    /// The pairs to draw.
    pub lines: Lines,
    /// True if the grid of the search is drawn.
    pub has_grid: bool,
    /// The radius of the sphere at the pointer; `None` for no sphere.
    pub sphere: Option<f32>,
    /// True if each kernel is timed.
    pub is_timed: bool,
    /// True if the boxes do not move.
    pub is_paused: bool,
    /// Scene seconds per second.
    pub speed: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kind: Kind::Pile,
            box_count: 20_000,
            has_events: true,
            axis: SweepAxis::Auto,
            cell_size: CellSize::Auto,
            lines: Lines::New,
            has_grid: false,
            sphere: None,
            is_timed: true,
            is_paused: false,
            speed: 1.0,
        }
    }
}

impl Settings {
    /// Returns the options of the broad phase.
    pub fn options(&self) -> Options {
        Options::default()
            .with_axis(self.axis)
            .with_cell_size(self.cell_size)
            .with_order(if self.has_events { PairOrder::Canonical } else { PairOrder::Sweep })
            // A line for each pair.
            .with_vertices_per_pair(2)
    }
}
