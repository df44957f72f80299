//! The value of one box in a list by box: `Option` on the host, a plain number in the list, which is uploaded as it is.

/// The value of one box, which is `None` where its element of the list is 2³² − 1.
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
