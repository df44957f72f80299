//! The active invocations of a workgroup.

/// A bit for each invocation of a workgroup, of which there are 256 at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask([u64; 4]);

impl Mask {
    /// No invocation.
    pub const NONE: Self = Self([0; 4]);

    /// Creates the mask of the first invocations.
    pub fn first(lanes: usize) -> Self {
        assert!(lanes <= 256, "a workgroup of {lanes} invocations");
        Self::of(lanes, |_| true)
    }

    /// Creates the mask of the invocations that satisfy a condition.
    pub fn of(lanes: usize, is: impl Fn(usize) -> bool) -> Self {
        let mut mask = Self::NONE;
        for lane in 0..lanes {
            mask.0[lane / 64] |= u64::from(is(lane)) << (lane % 64);
        }
        mask
    }

    /// Returns whether there is no invocation.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Returns whether this invocation is among them.
    pub fn has(&self, lane: usize) -> bool {
        self.0[lane / 64] >> (lane % 64) & 1 != 0
    }

    /// Lists the invocations, ascending.
    pub fn lanes(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(k, mut word)| {
            std::iter::from_fn(move || {
                let lane = (word != 0).then(|| 64 * k + word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(lane)
            })
        })
    }

    /// Adds the invocations of the other mask.
    pub fn merge(&mut self, other: Self) {
        *self = self.or(other);
    }

    /// Returns the intersection.
    pub fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] & other.0[k]))
    }

    /// Returns the union.
    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] | other.0[k]))
    }

    /// Returns the invocations that are not in the other mask.
    pub fn without(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] & !other.0[k]))
    }
}
