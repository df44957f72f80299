//! Lines that show how the search divides the scene: the axis of the sweep, and the columns of the grid along it.

use broadsweep::Report;
use bytemuck::{Pod, Zeroable};
use glam::Vec3;

/// The end of a line.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct LineEnd {
    /// The position.
    pub at: [f32; 3],
    /// Red, green, blue and opacity.
    pub color: [f32; 4],
}

/// Columns to draw on each side of the target.
const COLUMNS: i32 = 6;
/// The most line ends.
pub const MOST_ENDS: usize = 2 * ((2 * COLUMNS as usize + 1) * (2 * COLUMNS as usize + 1) + 1);

const COLUMN: [f32; 4] = [0.45, 0.75, 1.0, 0.5];
const AXIS: [f32; 4] = [1.0, 0.35, 0.35, 1.0];

/// Returns the axis and the columns around `target`, `extent` to each side; nothing without a grid.
pub fn lines(report: &Report, target: Vec3, extent: f32) -> Vec<LineEnd> {
    let direction = Vec3::from(report.direction);
    if direction == Vec3::ZERO {
        return Vec::new();
    }
    let mut ends = Vec::new();
    let mut line = |from: Vec3, to: Vec3, color| {
        ends.extend([from, to].map(|at| LineEnd { at: at.to_array(), color }));
    };
    line(target - extent * direction, target + extent * direction, AXIS);
    let edge = report.cell_size;
    if edge.is_finite() && edge > 0.0 {
        let [u, v] = report.across.map(Vec3::from);
        // The corner of a cell nearest to the target.
        let first = |axis: Vec3, corner: f32| ((target.dot(axis) - corner) / edge).round();
        let (first_u, first_v) = (first(u, report.corner[0]), first(v, report.corner[1]));
        let middle = target.dot(direction) * direction;
        for i in -COLUMNS..=COLUMNS {
            for j in -COLUMNS..=COLUMNS {
                let at_u = report.corner[0] + (first_u + i as f32) * edge;
                let at_v = report.corner[1] + (first_v + j as f32) * edge;
                let at = middle + at_u * u + at_v * v;
                line(at - extent * direction, at + extent * direction, COLUMN);
            }
        }
    }
    ends
}
