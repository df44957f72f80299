//! [`Places`]: the places of pairs in the list of the last step.

use std::fmt;

/// The place of each pair of a step in the list of the last step; none for a created pair. 8 bytes per pair.
///
/// ```
/// use broadsweep::step::Places;
///
/// let places = Places::from_iter([Some(4), None]);
/// assert_eq!((places.get(0), places.get(1)), (Some(4), None));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<Option<u64>>", into = "Vec<Option<u64>>"))]
pub struct Places {
    /// The places, or `CREATED`.
    pub(super) words: Vec<u64>,
}

impl Places {
    /// The place of a created pair.
    pub(super) const CREATED: u64 = u64::MAX;

    /// Returns the pair count.
    pub const fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether there are no pairs.
    pub const fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the place of pair `k` of the step; `None` if it is created or `k` is out of range.
    pub fn get(&self, k: usize) -> Option<u64> {
        self.words.get(k).copied().filter(|place| *place != Self::CREATED)
    }

    /// Returns the place of each pair of the step, in the order of the pairs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<u64>> + '_ {
        self.words.iter().map(|place| Some(*place).filter(|place| *place != Self::CREATED))
    }
}

impl FromIterator<Option<u64>> for Places {
    fn from_iter<I: IntoIterator<Item = Option<u64>>>(places: I) -> Self {
        Self { words: places.into_iter().map(|place| place.unwrap_or(Self::CREATED)).collect() }
    }
}

impl From<Vec<Option<u64>>> for Places {
    fn from(places: Vec<Option<u64>>) -> Self {
        places.into_iter().collect()
    }
}

impl From<Places> for Vec<Option<u64>> {
    fn from(places: Places) -> Self {
        places.iter().collect()
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
