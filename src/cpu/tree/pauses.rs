//! Decides when to try again an optimisation that did not save time.

/// The longest pause, in turns.
const LONGEST: u32 = 64;

/// Pauses of an optimisation that did not save time: 1, 2, 4, … 64 turns long, until it saves time again.
#[derive(Debug, Default)]
pub struct Pauses {
    /// Remaining turns of this pause.
    remaining: u32,
    /// The length of the last pause.
    last: u32,
}

impl Pauses {
    /// Returns `true` if this turn belongs to a pause.
    pub fn is_pause(&mut self) -> bool {
        let is_pause = self.remaining > 0;
        self.remaining = self.remaining.saturating_sub(1);
        is_pause
    }

    /// Begins a pause, twice as long as the last pause.
    pub fn begin(&mut self) {
        self.last = (2 * self.last).clamp(1, LONGEST);
        self.remaining = self.last;
    }

    /// Forgets earlier pauses, since the optimisation saved time.
    pub fn forget(&mut self) {
        self.last = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_it_pays() {
        let mut pauses = Pauses::default();
        for length in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert!(!pauses.is_pause());
            pauses.begin();
            assert_eq!((0..length).filter(|_| pauses.is_pause()).count(), length);
        }
        assert!(!pauses.is_pause());
        pauses.forget();
        pauses.begin();
        assert!(pauses.is_pause() && !pauses.is_pause());
    }
}
