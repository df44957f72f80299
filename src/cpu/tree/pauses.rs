//! When to try again what did not pay.

/// The longest pause.
const LONGEST: u32 = 64;

/// Pauses in which something is left out that did not pay: 1, 2, 4, … 64 turns long, until it pays again.
#[derive(Debug, Default)]
pub struct Pauses {
    /// Turns that are left of this pause.
    remaining: u32,
    /// How long the last pause was.
    last: u32,
}

impl Pauses {
    /// Returns whether this is the turn of a pause.
    pub fn is_pause(&mut self) -> bool {
        let is_pause = self.remaining > 0;
        self.remaining = self.remaining.saturating_sub(1);
        is_pause
    }

    /// Begins a pause, twice as long as the last one.
    pub fn begin(&mut self) {
        self.last = (2 * self.last).clamp(1, LONGEST);
        self.remaining = self.last;
    }

    /// Forgets the pauses before: it has paid.
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
