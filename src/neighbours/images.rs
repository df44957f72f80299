//! Lists the targets of a search: points wrapped into their cell, and their periodic images.

use std::ops::Range;

use super::lattice::{Lattice, fit};
use super::points::MOST_TARGETS;
use super::{Coordinate, PointSet};
use crate::Error;
use crate::base::reserve::reserve;

/// The most images of all points, not counting the points. Each image takes 24 bytes.
const MOST_IMAGES: u64 = 1 << 27;
/// The most shifts of images.
const MOST_SHIFTS: f64 = (1u32 << 24) as f64;

/// A set of points, each with the shift that moves it into the cell.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a, T> {
    pub set: PointSet<'a, T>,
    /// The shift of each point. Empty without a lattice, or if all points are in the cell.
    pub wraps: &'a [[i32; 3]],
    pub lattice: &'a Lattice,
}

impl<T: Coordinate> Placed<'_, T> {
    /// Returns the shift of a point into the cell.
    #[inline]
    pub fn wrap(&self, index: usize) -> [i32; 3] {
        self.wraps.get(index).copied().unwrap_or_default()
    }

    /// Returns a point moved into the cell, rounded; `None` if it is not finite.
    #[inline]
    pub fn place(&self, index: usize) -> Option<[f64; 3]> {
        self.set.finite(index).map(|point| self.lattice.moved(&point, self.wrap(index)))
    }

    /// Returns the largest magnitudes of finite coordinates and of wraps.
    pub fn magnitudes(&self) -> [[f64; 3]; 2] {
        let mut largest = [[0.0f64; 3]; 2];
        for (index, point) in self.finite() {
            let wrap = self.wrap(index).map(f64::from);
            for k in 0..3 {
                largest[0][k] = largest[0][k].max(point[k].abs());
                largest[1][k] = largest[1][k].max(wrap[k].abs());
            }
        }
        largest
    }

    /// Returns the count of finite points.
    pub fn finite_count(&self) -> u64 {
        self.finite().count() as u64
    }

    /// Returns the largest radius of a point.
    pub fn largest_radius(&self) -> f64 {
        self.set.radii.iter().fold(0.0, |largest, &radius| f64::max(largest, radius.into()))
    }

    /// Returns the least and largest fractional coordinates.
    pub fn fraction_bounds(&self) -> ([f64; 3], [f64; 3]) {
        let mut bounds = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for place in (0..self.set.positions.len()).filter_map(|index| self.place(index)) {
            let fractions = self.lattice.fractions(&place);
            bounds.0 = std::array::from_fn(|m| bounds.0[m].min(fractions[m]));
            bounds.1 = std::array::from_fn(|m| bounds.1[m].max(fractions[m]));
        }
        bounds
    }

    fn finite(&self) -> impl Iterator<Item = (usize, [f64; 3])> {
        (0..self.set.positions.len()).filter_map(|index| Some((index, self.set.finite(index)?)))
    }
}

/// Lists the shift that moves each point into the cell. The list is empty if all points are in the cell.
///
/// # Errors
/// [`Error::BadPoints`] if a shift does not fit.
pub fn wrap<T: Coordinate>(
    set: &PointSet<'_, T>,
    list: &'static str,
    lattice: &Lattice,
    wraps: &mut Vec<[i32; 3]>,
) -> Result<(), Error> {
    wraps.clear();
    for index in 0..set.positions.len() {
        let wrap = set.finite(index).map_or(Some([0; 3]), |point| lattice.wrap(&point));
        wraps.push(wrap.ok_or_else(|| {
            let position = set.positions[index];
            let problem = format!("has {position:?} at index {index}, too many cells from the origin. Wrap the points");
            Error::BadPoints { list, problem }
        })?);
    }
    if wraps.iter().all(|wrap| *wrap == [0; 3]) {
        wraps.clear();
    }
    Ok(())
}

/// The images of points that can have neighbours, as targets of the search. A target is a point or an image of a point.
/// It has a number: the upper bits are the index of the point, the lower bits an index in `shifts`. So targets ascend
/// by point and by shift, and decoding a number needs no load from memory.
#[derive(Debug, Default)]
pub struct Images {
    /// The shifts of images, ascending.
    shifts: Vec<[i32; 3]>,
    /// The fractional coordinates of each shift.
    fractions: Vec<[f64; 3]>,
    /// The targets that can have neighbours, ascending; empty without a periodic cell.
    targets: Vec<u32>,
    is_periodic: bool,
    point_count: u32,
    /// The lower bits of a target.
    shift_bits: u32,
    /// The number of the shift 0.
    origin: u32,
}

/// A range of fractional coordinates, in which targets can have neighbours.
#[derive(Clone, Copy, Debug)]
struct Window {
    low: [f64; 3],
    high: [f64; 3],
    rank: usize,
}

impl Window {
    fn holds(&self, own: &[f64; 3], image: &[f64; 3]) -> bool {
        let holds = |m: usize| self.low[m] <= own[m] + image[m] && own[m] + image[m] <= self.high[m];
        (0..self.rank).all(holds)
    }

    /// Returns whether no other image of a point is in the window.
    fn holds_no_other(&self, own: &[f64; 3]) -> bool {
        (0..self.rank).all(|m| own[m] - 1.0 < self.low[m] && self.high[m] < own[m] + 1.0)
    }
}

impl Images {
    /// Lists the targets that can be at most `reach` from queries. Returns a bound of the error of coordinates, along
    /// each axis.
    ///
    /// # Errors
    /// [`Error::TooManyImages`], before any image is listed.
    pub fn fill<T: Coordinate>(
        &mut self,
        queries: &Placed<'_, T>,
        points: &Placed<'_, T>,
        reach: f64,
    ) -> Result<[f64; 3], Error> {
        let lattice = points.lattice;
        self.targets.clear();
        if lattice.rank() == 0 {
            self.is_periodic = false;
            (self.shifts, self.shift_bits, self.origin) = (vec![[0; 3]], 0, 0);
            self.point_count = checked(points.set.positions.len(), 1, 0)?;
            return Ok([0.0; 3]);
        }
        let [own, other] = [queries.magnitudes(), points.magnitudes()];
        let largest = [0, 1].map(|list| std::array::from_fn(|k| f64::max(own[list][k], other[list][k])));
        let errors = lattice.error(&largest[0], &largest[1]);
        let [reach, errors] = [lattice.reach(reach), lattice.fraction_error(&largest[0], &errors)];
        // The added margin exceeds the rounding of products and sums.
        let reach = std::array::from_fn(|m| reach[m] * (1.0 + 1e-9) + 1e-9 + 4.0 * errors[m]);
        self.list(points, queries.fraction_bounds(), &reach)?;
        let shifts = self.magnitudes();
        let errors = lattice.error(&largest[0], &std::array::from_fn(|k| largest[1][k] + shifts[k]));
        if errors.iter().all(|error| error.is_finite()) {
            return Ok(errors);
        }
        let problem = "and the points are so large that their images are not finite. Scale them down".to_string();
        Err(Error::BadCell { problem })
    }

    /// Lists the images that are at most `reach` from queries, in fractional coordinates. `bounds` are the bounds of
    /// the queries.
    fn list<T: Coordinate>(
        &mut self,
        points: &Placed<'_, T>,
        bounds: ([f64; 3], [f64; 3]),
        reach: &[f64; 3],
    ) -> Result<(), Error> {
        let (point_count, lattice) = (points.set.positions.len(), points.lattice);
        let low = std::array::from_fn(|m| bounds.0[m] - reach[m]);
        let high = std::array::from_fn(|m| bounds.1[m] + reach[m]);
        let window = Window { low, high, rank: lattice.rank() };
        self.list_shifts(points, &window)?;
        // Check the count before all shifts are tried for each point.
        self.point_count = checked(point_count, self.shifts.len(), 0)?;
        let total: u64 = (0..point_count).map(|index| self.near(points, index, &window).count() as u64).sum();
        self.shift_bits = self.shifts.len().next_power_of_two().ilog2();
        checked(point_count, self.shifts.len(), total.saturating_sub(point_count as u64))?;
        let mut targets = std::mem::take(&mut self.targets);
        reserve(&mut targets, total)?;
        for index in 0..point_count {
            targets.extend(self.near(points, index, &window).map(|number| (index as u32) << self.shift_bits | number));
        }
        (self.targets, self.is_periodic) = (targets, true);
        Ok(())
    }

    /// Lists the shifts that move a point into the window.
    fn near<T: Coordinate>(&self, points: &Placed<'_, T>, index: usize, window: &Window) -> impl Iterator<Item = u32> {
        let own = points.place(index).map(|place| points.lattice.fractions(&place));
        let is_one = own.is_some_and(|own| window.holds_no_other(&own));
        let numbers = if is_one { self.origin..self.origin + 1 } else { 0..self.shifts.len() as u32 };
        numbers.filter(move |&number| own.is_some_and(|own| window.holds(&own, &self.fractions[number as usize])))
    }

    /// Lists all shifts that can move a point into the window, ascending.
    fn list_shifts<T: Coordinate>(&mut self, points: &Placed<'_, T>, window: &Window) -> Result<(), Error> {
        let (point_count, lattice) = (points.set.positions.len(), points.lattice);
        let mut ranges = [[0i64; 2]; 3];
        let (low, high) = points.fraction_bounds();
        let mut shift_count = 1.0;
        for m in (0..window.rank).filter(|_| low[0] <= high[0]) {
            let (first, last) = ((window.low[m] - high[m]).ceil().min(0.0), (window.high[m] - low[m]).floor().max(0.0));
            shift_count *= last - first + 1.0;
            ranges[m] = [first as i64, last as i64];
        }
        if shift_count.is_nan() || shift_count > MOST_SHIFTS {
            return Err(too_many(point_count, (shift_count * point_count as f64) as u64));
        }
        let mut shifts = Vec::new();
        reserve(&mut shifts, shift_count as u64)?;
        for x in ranges[0][0]..=ranges[0][1] {
            for y in ranges[1][0]..=ranges[1][1] {
                for z in ranges[2][0]..=ranges[2][1] {
                    let shift = fit(lattice.shift([x, y, z]));
                    shifts.push((shift.ok_or_else(|| too_many(point_count, u64::MAX))?, [x, y, z].map(|f| f as f64)));
                }
            }
        }
        shifts.sort_unstable_by_key(|(shift, _)| *shift);
        (self.shifts, self.fractions) = shifts.into_iter().unzip();
        self.origin = self.shifts.iter().position(|shift| *shift == [0; 3]).unwrap_or_default() as u32;
        Ok(())
    }

    /// Returns whether each point is one target, without a shift.
    pub fn is_identity(&self) -> bool {
        !self.is_periodic
    }

    /// Returns the count of targets.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub fn count(&self) -> u32 {
        if self.is_identity() { self.point_count } else { self.targets.len() as u32 }
    }

    /// Returns target `k` in ascending order.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    #[inline]
    pub fn target(&self, k: u32) -> u32 {
        if self.is_identity() { k } else { self.targets[k as usize] }
    }

    /// Lists the targets. Without a periodic cell, points that are not finite are included.
    pub fn targets(&self) -> impl Iterator<Item = u32> + '_ {
        let points = if self.is_identity() { self.point_count } else { 0 };
        self.targets.iter().copied().chain(0..points)
    }

    /// Returns the point of a target, and its shift.
    #[inline]
    pub fn owner(&self, target: u32) -> (u32, [i32; 3]) {
        (target >> self.shift_bits, self.shifts[(target & ((1 << self.shift_bits) - 1)) as usize])
    }

    /// Returns the targets of a point.
    #[inline]
    pub fn of_point(&self, index: u32) -> Range<u32> {
        index << self.shift_bits..(index + 1) << self.shift_bits
    }

    /// Returns the target of a point with the shift 0.
    #[inline]
    pub fn own(&self, index: u32) -> u32 {
        index << self.shift_bits | self.origin
    }

    /// Returns the largest magnitudes of shifts.
    fn magnitudes(&self) -> [f64; 3] {
        let largest = |largest: [f64; 3], shift: &[i32; 3]| {
            std::array::from_fn(|k| f64::max(largest[k], f64::from(shift[k]).abs()))
        };
        self.shifts.iter().fold([0.0; 3], largest)
    }
}

/// Checks the count of images, and that the numbers of targets fit 32 bits. Returns the point count.
fn checked(point_count: usize, shift_count: usize, image_count: u64) -> Result<u32, Error> {
    let numbers = (point_count as u64).saturating_mul(shift_count.next_power_of_two() as u64);
    if numbers > MOST_TARGETS {
        return Err(too_many(point_count, numbers - point_count as u64));
    }
    if image_count > MOST_IMAGES {
        return Err(too_many(point_count, image_count));
    }
    Ok(point_count as u32)
}

fn too_many(point_count: usize, image_count: u64) -> Error {
    Error::TooManyImages { point_count: point_count as u64, image_count, limit: MOST_IMAGES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_points_than_numbers_of_targets_are_refused() {
        assert_eq!(checked(66_000_000, 27, 0).ok(), Some(66_000_000));
        let refused =
            |points, shifts, images| matches!(checked(points, shifts, images), Err(Error::TooManyImages { .. }));
        assert!(refused(67_000_000, 27, 0) && refused(usize::MAX, 27, 0) && refused(usize::MAX, 1, 0));
        assert!(!refused(1, 1 << 24, MOST_IMAGES) && refused(1, 1 << 24, MOST_IMAGES + 1));
    }
}
