//! The lattice of a periodic cell: a reduced basis, fractional coordinates, and wrapping of points.
//!
//! These numbers only guide the search, so they may be rounded. Shifts are integers, and pairs are decided from the
//! caller's numbers.

use super::coordinate::Coordinate;
use super::options::PeriodicCell;
use crate::Error;

/// The largest entry of a transform: products of it with the shifts of a search fit 64 bits.
const MOST_TRANSFORM: i64 = 1 << 30;
/// The largest shift of a wrapped point or an image. Sums of three shifts fit 32 bits.
pub const MOST_SHIFT: i64 = 1 << 29;
/// The least length of a reduced vector, relative to the vectors from which it was computed.
const LEAST_LENGTH: f64 = 1e-12;

/// A basis of the periodic directions.
#[derive(Clone, Debug, Default)]
pub struct Lattice {
    /// The vectors of the cell; 0 in directions that are not periodic.
    pub vectors: [[f64; 3]; 3],
    /// The vectors of a reduced basis, at most three. Angles between them are large, so that few images are near.
    basis: Vec<[f64; 3]>,
    /// Each reduced vector as multiples of the cell's vectors.
    transform: Vec<[i64; 3]>,
    /// The dual basis: its products with a point are the fractional coordinates.
    dual: Vec<[f64; 3]>,
}

impl Lattice {
    /// Reduces the basis of a cell.
    ///
    /// # Errors
    /// [`Error::BadCell`] if a vector is not finite, or if the periodic ones are linearly dependent within the
    /// precision of `f64`.
    pub fn new<T: Coordinate>(cell: &PeriodicCell<T>) -> Result<Self, Error> {
        let mut lattice = Self::default();
        for k in (0..3).filter(|&k| cell.periodic[k]) {
            lattice.vectors[k] = cell.vectors[k].map(Into::into);
            if lattice.vectors[k].iter().any(|x| !x.is_finite()) {
                let problem = format!("vector {k} is {:?}; a periodic vector must be finite", cell.vectors[k]);
                return Err(Error::BadCell { problem });
            }
            lattice.transform.push(std::array::from_fn(|m| i64::from(m == k)));
        }
        lattice.reduce()?;
        Ok(lattice)
    }

    /// Returns the count of periodic directions.
    pub fn rank(&self) -> usize {
        self.basis.len()
    }

    fn reduce(&mut self) -> Result<(), Error> {
        // Scale by a power of two, so that no square overflows.
        let largest = self.vectors.iter().flatten().fold(0.0f64, |largest, x| largest.max(x.abs()));
        let scale = power_of_two_below(largest);
        let unit = self.vectors.map(|vector| vector.map(|x| x / scale));
        let sum = |transform: &[i64; 3]| combine(&transform.map(|factor| factor as f64), &unit);
        let mut vectors: Vec<_> = self.transform.iter().map(sum).collect();
        while let Some((k, transform)) = shorter(&vectors, &self.transform) {
            if transform.iter().any(|factor| factor.abs() > MOST_TRANSFORM) {
                break;
            }
            self.transform[k] = transform;
            vectors[k] = sum(&transform);
        }
        for (vector, transform) in vectors.iter().zip(&self.transform) {
            let terms = transform.iter().zip(&unit).map(|(factor, vector)| (*factor as f64).abs() * length(vector));
            if length(vector) <= LEAST_LENGTH * terms.sum::<f64>() {
                return Err(self.degenerate());
            }
        }
        self.dual = dual_of(&vectors).ok_or_else(|| self.degenerate())?;
        self.dual.iter_mut().flatten().for_each(|x| *x /= scale);
        self.basis = vectors.iter().map(|vector| vector.map(|x| x * scale)).collect();
        if self.dual.iter().flatten().any(|x| !x.is_finite()) {
            return Err(self.degenerate());
        }
        Ok(())
    }

    fn degenerate(&self) -> Error {
        let problem = format!(
            "vectors {:?} have no volume along the periodic directions. Periodic vectors must be linearly independent",
            self.vectors
        );
        Error::BadCell { problem }
    }

    /// Returns the fractional coordinates of a point; 0 along directions that are not periodic.
    #[inline]
    pub fn fractions(&self, point: &[f64; 3]) -> [f64; 3] {
        let mut fractions = [0.0; 3];
        for (fraction, dual) in fractions.iter_mut().zip(&self.dual) {
            *fraction = dot(dual, point);
        }
        fractions
    }

    /// Converts a distance to the largest difference of fractional coordinates.
    pub fn reach(&self, distance: f64) -> [f64; 3] {
        let mut reach = [0.0; 3];
        for (reach, dual) in reach.iter_mut().zip(&self.dual) {
            *reach = distance * length(dual);
        }
        reach
    }

    /// Converts a shift from multiples of the reduced vectors to multiples of the cell's vectors.
    #[inline]
    pub fn shift(&self, factors: [i64; 3]) -> [i64; 3] {
        let mut shift = [0i64; 3];
        for (factor, transform) in factors.iter().zip(&self.transform) {
            for (shift, part) in shift.iter_mut().zip(transform) {
                *shift = shift.saturating_add(factor.saturating_mul(*part));
            }
        }
        shift
    }

    /// Returns a point moved by a shift, rounded.
    #[inline]
    pub fn moved(&self, point: &[f64; 3], shift: [i32; 3]) -> [f64; 3] {
        if shift == [0; 3] {
            return *point;
        }
        let by = combine(&shift.map(f64::from), &self.vectors);
        std::array::from_fn(|k| point[k] + by[k])
    }

    /// Bounds the error of [`moved`](Self::moved) along each axis, for coordinates and shifts of at most these
    /// magnitudes.
    pub fn error(&self, coordinates: &[f64; 3], shift: &[f64; 3]) -> [f64; 3] {
        let terms = combine(shift, &self.vectors.map(|vector| vector.map(f64::abs)));
        // If all vectors are 0 along an axis, this axis has no error.
        std::array::from_fn(|k| if terms[k] == 0.0 { 0.0 } else { 4.0 * f64::EPSILON * (coordinates[k] + terms[k]) })
    }

    /// Bounds the error of fractional coordinates, for coordinates of at most these magnitudes with these errors.
    pub fn fraction_error(&self, coordinates: &[f64; 3], errors: &[f64; 3]) -> [f64; 3] {
        let mut found = [0.0; 3];
        for (found, dual) in found.iter_mut().zip(&self.dual) {
            let terms = (0..3).map(|k| {
                if dual[k] == 0.0 { 0.0 } else { dual[k].abs() * (4.0 * f64::EPSILON * coordinates[k] + errors[k]) }
            });
            *found = terms.sum::<f64>();
        }
        found
    }

    /// Returns the shift that moves a point into the cell; `None` if it is too long.
    pub fn wrap(&self, point: &[f64; 3]) -> Option<[i32; 3]> {
        let factors = self.fractions(point).map(|fraction| -fraction.floor());
        if !factors.iter().all(|factor| factor.abs() < (1i64 << 40) as f64) {
            return None;
        }
        fit(self.shift(factors.map(|factor| factor as i64)))
    }
}

/// Returns a shift of 32 bits, if it is short enough.
pub fn fit(shift: [i64; 3]) -> Option<[i32; 3]> {
    shift.iter().all(|part| part.abs() <= MOST_SHIFT).then(|| shift.map(|part| part as i32))
}

/// Returns the index of a vector that becomes shorter when multiples of other vectors are added, and the transform of
/// the shorter vector.
fn shorter(vectors: &[[f64; 3]], transform: &[[i64; 3]]) -> Option<(usize, [i64; 3])> {
    for k in 0..vectors.len() {
        let others: Vec<usize> = (0..vectors.len()).filter(|&other| other != k).collect();
        let mut factors = vec![];
        for &other in &others {
            let square = dot(&vectors[other], &vectors[other]);
            let factor = -(dot(&vectors[k], &vectors[other]) / square).round();
            if factor != 0.0 && factor.abs() < MOST_TRANSFORM as f64 {
                factors.push([(other, factor as i64), (other, 0)]);
            }
        }
        if let [a, b] = others[..] {
            factors.extend([(1, 1), (1, -1), (-1, 1), (-1, -1)].map(|(s, t)| [(a, s), (b, t)]));
        }
        for factors in factors {
            let (mut sum, mut sum_transform) = (vectors[k], transform[k]);
            for (other, factor) in factors {
                for m in 0..3 {
                    sum[m] += factor as f64 * vectors[other][m];
                    sum_transform[m] = sum_transform[m].saturating_add(factor.saturating_mul(transform[other][m]));
                }
            }
            // The margin prevents an endless loop by rounding.
            if dot(&sum, &sum) < dot(&vectors[k], &vectors[k]) * (1.0 - 1e-9) {
                return Some((k, sum_transform));
            }
        }
    }
    None
}

/// Returns the dual basis of at most three vectors, in the space that they span; none if they are dependent.
fn dual_of(vectors: &[[f64; 3]]) -> Option<Vec<[f64; 3]>> {
    let lengths: Vec<f64> = vectors.iter().map(length).collect();
    let unit: Vec<[f64; 3]> = vectors.iter().zip(&lengths).map(|(vector, length)| vector.map(|x| x / length)).collect();
    let crosses = match unit[..] {
        [] => vec![],
        [a] => vec![a],
        [a, b] => {
            let normal = cross(&a, &b);
            vec![cross(&b, &normal), cross(&normal, &a)]
        }
        [a, b, c] => vec![cross(&b, &c), cross(&c, &a), cross(&a, &b)],
        _ => return None,
    };
    let dual = crosses.iter().zip(&unit).zip(&lengths).map(|((cross, unit), length)| {
        let volume = dot(cross, unit);
        (volume.abs() > LEAST_LENGTH).then(|| cross.map(|x| x / volume / length))
    });
    dual.collect()
}

/// Returns the power of two at or below a positive number; 1 for 0.
fn power_of_two_below(value: f64) -> f64 {
    if value == 0.0 { 1.0 } else { f64::from_bits(value.to_bits() & 0x7ff << 52).max(f64::MIN_POSITIVE) }
}

fn combine(factors: &[f64; 3], vectors: &[[f64; 3]; 3]) -> [f64; 3] {
    std::array::from_fn(|k| factors[0] * vectors[0][k] + factors[1] * vectors[1][k] + factors[2] * vectors[2][k])
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(a: &[f64; 3]) -> f64 {
    // Squares of components can overflow although the length does not.
    a[0].hypot(a[1]).hypot(a[2])
}
