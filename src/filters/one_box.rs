//! Converts between the value of one box, an `Option`, and its element in a list. The element is a plain number, since
//! lists are uploaded unchanged.

use super::spheres::NO_SPHERE;

/// The value of one box. The element of `None` is 2³² − 1, or a sphere with an infinite radius.
pub(super) trait OfOne<E> {
    /// Returns the value of an element of the list.
    fn of_element(element: E) -> Self;
    /// Returns the element of the list.
    fn element(self) -> E;
}

impl<E> OfOne<E> for E {
    fn of_element(element: E) -> Self {
        element
    }

    fn element(self) -> E {
        self
    }
}

impl OfOne<u32> for Option<u32> {
    fn of_element(element: u32) -> Self {
        (element != u32::MAX).then_some(element)
    }

    fn element(self) -> u32 {
        self.unwrap_or(u32::MAX)
    }
}

impl OfOne<[f32; 4]> for Option<[f32; 4]> {
    fn of_element(element: [f32; 4]) -> Self {
        (element[3] != f32::INFINITY).then_some(element)
    }

    fn element(self) -> [f32; 4] {
        self.unwrap_or(NO_SPHERE)
    }
}
