//! The types of coordinates of a neighbour search.

use std::fmt::{Debug, Display};

use bytemuck::Zeroable;

use crate::base::exact::round_down;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// The type of coordinates and radii of a neighbour search: `f32` or `f64`.
pub trait Coordinate:
    sealed::Sealed + Copy + Debug + Default + Display + Into<f64> + PartialEq + Send + Sync + Zeroable + 'static
{
    /// Returns the nearest number of this type.
    #[doc(hidden)]
    fn nearest(value: f64) -> Self;

    /// Returns the largest number of this type that is at most `value`.
    #[doc(hidden)]
    fn at_most(value: f64) -> Self;
}

impl Coordinate for f32 {
    #[inline]
    fn nearest(value: f64) -> Self {
        value as f32
    }

    #[inline]
    fn at_most(value: f64) -> Self {
        round_down(value)
    }
}

impl Coordinate for f64 {
    #[inline]
    fn nearest(value: f64) -> Self {
        value
    }

    #[inline]
    fn at_most(value: f64) -> Self {
        value
    }
}
