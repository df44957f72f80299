//! What can be changed while it runs.

use broadsweep::{CellSize, Options, PairOrder, SweepAxis};

use crate::scene::Kind;

/// The fewest and the most boxes that one can request.
pub const BOXES: std::ops::RangeInclusive<u32> = 2..=4_000_000;

/// Which pairs are drawn as lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// None.
    None,
    /// Those that began or ended a moment ago.
    New,
    /// All.
    All,
}

/// What can be changed while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What there is to look at.
    pub kind: Kind,
    /// About how many boxes.
    pub box_count: u32,
    /// True if what begins and ends since the last frame is found too.
    pub has_events: bool,
    /// The axis of the sweep.
    pub axis: SweepAxis,
    /// The edge of a cell, in the units of the scene.
    pub cell_size: CellSize,
    /// Which pairs are drawn.
    pub lines: Lines,
    /// True if the grid of the search is drawn.
    pub has_grid: bool,
    /// The radius of the sphere around what is pointed at; `None` for no sphere.
    pub sphere: Option<f32>,
    /// True if each kernel is timed.
    pub is_timed: bool,
    /// True if nothing moves.
    pub is_paused: bool,
    /// Seconds of the scene for each second.
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
