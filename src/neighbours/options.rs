//! The options of a neighbour search.

use super::coordinate::Coordinate;
use crate::Error;

/// A cell that repeats in space, in the units of the points.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PeriodicCell<T = f32> {
    /// The three lattice vectors, a row each. Vectors of directions that are not periodic are ignored and may be 0.
    pub vectors: [[T; 3]; 3],
    /// `true` for each vector along which the cell repeats.
    pub periodic: [bool; 3],
}

impl<T: Coordinate> PeriodicCell<T> {
    /// Creates a cell that repeats along all three vectors.
    pub const fn new(vectors: [[T; 3]; 3]) -> Self {
        Self { vectors, periodic: [true; 3] }
    }

    /// Creates a cell with edges of these lengths along x, y and z, which repeats along all three.
    pub fn orthorhombic(lengths: [T; 3]) -> Self {
        let zero = T::default();
        Self::new([[lengths[0], zero, zero], [zero, lengths[1], zero], [zero, zero, lengths[2]]])
    }

    /// Returns the same cell, which repeats only along these vectors.
    #[must_use]
    pub const fn with_periodic(mut self, periodic: [bool; 3]) -> Self {
        self.periodic = periodic;
        self
    }
}

/// The options of a neighbour search.
///
/// ```
/// use broadsweep::neighbour::{NeighbourOptions, PeriodicCell};
///
/// let cell = PeriodicCell::orthorhombic([10.0, 10.0, 10.0]);
/// let options = NeighbourOptions::new(2.5).with_cell(Some(cell)).with_both_directions(true);
/// assert!(options.self_images);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct NeighbourOptions<T = f32> {
    /// The largest distance of a pair, inclusive: finite and ≥ 0, in the units of the points. Radii of points
    /// ([`PointSet::radii`](super::PointSet::radii)) are added to it.
    pub radius: T,
    /// The cell in which points repeat. Default: none; then pairs have no shifts.
    #[cfg_attr(feature = "serde", serde(default))]
    pub cell: Option<PeriodicCell<T>>,
    /// True if a search within one set lists each pair twice, as (i, j, S) and as (j, i, −S). Default: once, with i <
    /// j. If i = j, the pair is listed with one of the shifts S and −S: the one that is greater than 0 in lexicographic
    /// order. A search between two
    /// sets lists each pair once.
    #[cfg_attr(feature = "serde", serde(default))]
    pub both_directions: bool,
    /// `true` if, in a search within one set, a point and its own images are pairs. Default: `true`. Without a cell,
    /// there are no images.
    #[cfg_attr(feature = "serde", serde(default = "yes"))]
    pub self_images: bool,
    /// True to list the vector of each pair. Default: `false`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub vectors: bool,
    /// True to list the squared distance of each pair. Default: `false`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub squared_distances: bool,
}

impl<T: Coordinate> NeighbourOptions<T> {
    /// Returns the defaults, with this radius.
    pub const fn new(radius: T) -> Self {
        Self { radius, cell: None, both_directions: false, self_images: true, vectors: false, squared_distances: false }
    }

    /// Returns the radius.
    ///
    /// # Errors
    /// [`Error::BadOption`] if it is negative, infinite or NaN.
    pub(crate) fn checked_radius(&self) -> Result<f64, Error> {
        let radius: f64 = self.radius.into();
        if radius >= 0.0 && radius.is_finite() {
            return Ok(radius);
        }
        Err(Error::BadOption { option: "radius", value: self.radius.to_string(), expected: "finite and at least 0" })
    }
}

/// Declares setters, as `setters!` does for structures without a type parameter.
macro_rules! option_setters {
    ($($setter:ident: $field:ident: $kind:ty,)*) => {
        impl<T: Coordinate> NeighbourOptions<T> {
            $(
                #[doc = concat!("Returns a copy with this [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub const fn $setter(mut self, $field: $kind) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

option_setters! {
    with_radius: radius: T,
    with_cell: cell: Option<PeriodicCell<T>>,
    with_both_directions: both_directions: bool,
    with_self_images: self_images: bool,
    with_vectors: vectors: bool,
    with_squared_distances: squared_distances: bool,
}

/// The default of [`NeighbourOptions::self_images`].
#[cfg(feature = "serde")]
fn yes() -> bool {
    true
}
