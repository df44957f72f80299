//! The cells of a search: the key of a point's cell, and points sorted by cell.

use rayon::prelude::*;

use crate::cpu::radix;

/// Cells per reach, along x, y and z. The cells of a row along x are consecutive in memory, so more cells along x cost
/// little.
pub const SPLIT: [u32; 3] = [4, 1, 1];
/// Widens cells, so that rounding moves no pair out of the searched cells. The widening exceeds the relative error of a
/// cell number.
const WIDENING: f64 = 1.0 + 1.0 / (1u32 << 14) as f64;
/// The most cells along an axis: 2²¹.
const MOST_CELL_BITS: u32 = 21;

/// The cells along one axis.
#[derive(Clone, Debug)]
struct Axis {
    low: f64,
    per_unit: f64,
    /// If there would be too many cells: the first coordinate and the first cell of each group of points. Groups are
    /// farther apart than the reach.
    groups: Vec<(f64, u64)>,
    /// The count of consecutive cells that are merged into one.
    merged: u64,
    count: u64,
}

impl Axis {
    /// Divides an axis. `coordinates` returns the coordinates of all points; it is called only if there would be too
    /// many cells.
    fn new(bounds: [f64; 2], edge: f64, most: u64, coordinates: impl FnOnce() -> Vec<f64>) -> Self {
        let per_unit = 1.0 / edge;
        let cells = (bounds[1] - bounds[0]) * per_unit;
        if cells < most as f64 {
            let count = cells as u64 + 1;
            return Self { low: bounds[0], per_unit, groups: Vec::new(), merged: 1, count };
        }
        let mut coordinates = coordinates();
        coordinates.par_sort_unstable_by(f64::total_cmp);
        let (mut groups, mut next) = (vec![], 0);
        let reach = edge * f64::from(SPLIT[0].max(SPLIT[1]).max(SPLIT[2]));
        // Two consecutive coordinates of a group are at most the reach apart.
        for group in coordinates.chunk_by(|a, b| b - a <= reach) {
            groups.push((group[0], next));
            next += ((group[group.len() - 1] - group[0]) * per_unit) as u64 + 1 + u64::from(SPLIT[0]);
        }
        let merged = next / most + 1;
        Self { low: bounds[0], per_unit, groups, merged, count: next / merged + 1 }
    }

    #[inline]
    fn cell(&self, x: f64) -> u64 {
        if self.groups.is_empty() {
            return ((x - self.low) * self.per_unit) as u64;
        }
        let group = self.groups.partition_point(|(start, _)| *start <= x).saturating_sub(1);
        let (start, first) = self.groups[group];
        (first + ((x - start) * self.per_unit) as u64) / self.merged
    }
}

/// The cells of a search, in the order of their keys: by world, z, y and x.
#[derive(Clone, Debug)]
pub struct Grid {
    axes: [Axis; 3],
    key_bits: u32,
}

impl Grid {
    /// Divides space for a search up to `reach` from each point, along any axis.
    pub fn new(bounds: &[[f64; 3]; 2], reach: f64, last_world: u32, places: impl Fn() -> Vec<[f64; 3]>) -> Self {
        let world_bits = u32::BITS - last_world.leading_zeros();
        let most = 1 << MOST_CELL_BITS.min((u64::BITS - 1 - world_bits) / 3);
        let axes = std::array::from_fn(|k| {
            // A reach of 0 needs cells of positive size.
            let edge = (reach * WIDENING / f64::from(SPLIT[k])).max(f64::MIN_POSITIVE * 16.0);
            Axis::new([bounds[0][k], bounds[1][k]], edge, most, || places().iter().map(|place| place[k]).collect())
        });
        let last = axes.iter().fold(u128::from(last_world) + 1, |keys, axis: &Axis| keys * u128::from(axis.count)) - 1;
        Self { axes, key_bits: u128::BITS - last.leading_zeros() }
    }

    /// Returns the key of the cell of a point.
    #[inline]
    pub fn key(&self, place: &[f64; 3], world: u32) -> u64 {
        let cell = |k: usize| self.axes[k].cell(place[k]).min(self.axes[k].count - 1);
        self.key_of(u64::from(world), [cell(0), cell(1), cell(2)])
    }

    fn key_of(&self, world: u64, cell: [u64; 3]) -> u64 {
        ((world * self.axes[2].count + cell[2]) * self.axes[1].count + cell[1]) * self.axes[0].count + cell[0]
    }

    /// Returns world and cell of a key.
    fn cell_of(&self, key: u64) -> (u64, [u64; 3]) {
        let (rest, x) = (key / self.axes[0].count, key % self.axes[0].count);
        let (rest, y) = (rest / self.axes[1].count, rest % self.axes[1].count);
        (rest / self.axes[2].count, [x, y, rest % self.axes[2].count])
    }

    /// Calls `visit` for each row near a cell. Its arguments are the index of the row, and the first and last key of
    /// the part of the row near the cell. If successive calls pass ascending keys, the
    /// keys of each row ascend too.
    #[inline]
    pub fn rows(&self, key: u64, mut visit: impl FnMut(usize, u64, u64)) {
        let (world, cell) = self.cell_of(key);
        let near = |k: usize| {
            let reach = u64::from(SPLIT[k]);
            cell[k].saturating_sub(reach)..=(cell[k] + reach).min(self.axes[k].count - 1)
        };
        let (x, width) = (near(0), 2 * SPLIT[1] as usize + 1);
        for z in near(2) {
            for y in near(1) {
                let row = self.key_of(world, [0, y, z]);
                let [y, z] = [(y, 1), (z, 2)].map(|(at, k)| (at + u64::from(SPLIT[k]) - cell[k]) as usize);
                visit(z * width + y, row + x.start(), row + x.end());
            }
        }
    }
}

/// The rows of cells near a cell.
pub const ROWS: usize = ((2 * SPLIT[1] + 1) * (2 * SPLIT[2] + 1)) as usize;

/// A nonempty cell.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub key: u64,
    /// The index of its first point.
    pub start: u32,
}

/// Scratch memory of a sort.
#[derive(Debug, Default)]
pub struct SortScratch {
    short: [Vec<u64>; 2],
    long: Vec<(u64, u32)>,
}

impl SortScratch {
    /// Sorts numbers by key, and lists the cells, with an end marker. Numbers of one cell ascend.
    pub fn sort(
        &mut self,
        grid: &Grid,
        keys: impl Iterator<Item = (u64, u32)>,
        order: &mut Vec<u32>,
        cells: &mut Vec<Cell>,
    ) {
        order.clear();
        cells.clear();
        let mut push = |key: u64, number: u32| {
            if cells.last().is_none_or(|last| last.key != key) {
                cells.push(Cell { key, start: order.len() as u32 });
            }
            order.push(number);
        };
        if grid.key_bits <= u32::BITS {
            let [items, other] = &mut self.short;
            items.clear();
            items.extend(keys.map(|(key, number)| key << 32 | u64::from(number)));
            radix::sort(items, other, grid.key_bits.max(1));
            items.iter().for_each(|item| push(item >> 32, *item as u32));
        } else {
            self.long.clear();
            self.long.extend(keys);
            self.long.par_sort_unstable();
            self.long.iter().for_each(|&(key, number)| push(key, number));
        }
        cells.push(Cell { key: u64::MAX, start: order.len() as u32 });
    }
}
