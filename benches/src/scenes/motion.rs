//! The same boxes in different motion: what is to be found out is what a step costs, and not what a scene costs.

use std::fmt;
use std::str::FromStr;

use super::UnknownMotion;
use super::moving::{Particles, particle_after};
use super::random::{Random, cube_root};
use broadsweep::Aabb;

/// A motion of boxes. All begin at the places of [`particles`](super::particles), uniform in a cube. Speeds are in
/// diameters per step, each in its own direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Motion {
    /// None moves.
    Still,
    /// One in a hundred moves, by a fiftieth.
    Few,
    /// One in ten moves, by a fiftieth.
    Some,
    /// All move by a hundredth.
    Slow,
    /// All move by a tenth.
    Brisk,
    /// All move by a half.
    Fast,
    /// One in fifty flies by ten, the others stay.
    Bullets,
    /// All move by a fiftieth, until they fall asleep, one after the other, within 200 steps.
    Asleep,
    /// One in a thousand is put anywhere else, each in its turn; the others stay.
    Teleports,
    /// All are put anywhere else.
    Jumps,
}

impl Motion {
    /// Every motion.
    pub const ALL: [Self; 10] = [
        Self::Still,
        Self::Few,
        Self::Some,
        Self::Slow,
        Self::Brisk,
        Self::Fast,
        Self::Bullets,
        Self::Asleep,
        Self::Teleports,
        Self::Jumps,
    ];

    /// Returns the name to type and to print, which parses back.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Still => "still",
            Self::Few => "few",
            Self::Some => "some",
            Self::Slow => "slow",
            Self::Brisk => "brisk",
            Self::Fast => "fast",
            Self::Bullets => "bullets",
            Self::Asleep => "asleep",
            Self::Teleports => "teleports",
            Self::Jumps => "jumps",
        }
    }

    /// Says what moves, in a line.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Still => "none moves",
            Self::Few => "1 % move by 0.02 diameters a step",
            Self::Some => "10 % move by 0.02 diameters a step",
            Self::Slow => "all move by 0.01 diameters a step",
            Self::Brisk => "all move by 0.1 diameters a step",
            Self::Fast => "all move by 0.5 diameters a step",
            Self::Bullets => "2 % fly by 10 diameters a step",
            Self::Asleep => "all move by 0.02 diameters a step, until they fall asleep, within 200 steps",
            Self::Teleports => "0.1 % are put anywhere in each step",
            Self::Jumps => "all are put anywhere in each step",
        }
    }

    /// Objects per cube of the largest diameter, where nothing else is said: some two pairs for each box.
    pub const DENSITY: f64 = 0.5;

    /// Returns how far box `i` has come until this step.
    fn way(self, i: usize, step: u32, side: f64) -> f64 {
        let time = f64::from(step);
        let one_in = |count: usize| if i.is_multiple_of(count) { 1.0 } else { 0.0 };
        match self {
            Self::Still => 0.0,
            Self::Few => 0.02 * time * one_in(100),
            Self::Some => 0.02 * time * one_in(10),
            Self::Slow => 0.01 * time,
            Self::Brisk => 0.1 * time,
            Self::Fast => 0.5 * time,
            Self::Bullets => 10.0 * time * one_in(50),
            // By a multiplicative hash, so that neighbours in the list fall asleep at different times.
            Self::Asleep => 0.02 * time.min(((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as f64 % 200.0),
            Self::Teleports => 0.37 * side * ((u64::from(step) + i as u64) / 1000 - i as u64 / 1000) as f64,
            Self::Jumps => 0.37 * side * time,
        }
    }

    /// Creates exactly `n` boxes as they are in this step, with this density per cube of the largest diameter: the same
    /// boxes in the same order in every step. O(n).
    pub fn boxes(self, n: usize, density: f64, seed: u64, step: u32) -> Vec<Aabb> {
        let side = cube_root(n.max(1) as f64 / density);
        let space = Particles { side, diameter: 1.0, speed: 0.0 };
        let random = Random::new(seed, "motion");
        (0..n).map(|i| particle_after(self.way(i, step, side), random.of(i), space)).collect()
    }
}

impl fmt::Display for Motion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Motion {
    type Err = UnknownMotion;

    fn from_str(text: &str) -> Result<Self, UnknownMotion> {
        let found = Self::ALL.into_iter().find(|motion| motion.name() == text);
        found.ok_or_else(|| UnknownMotion { name: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_move_in_the_number_and_distance_of_the_motion() {
        let n = 5000;
        let parts = [0.0, 0.01, 0.1, 1.0, 1.0, 1.0, 0.02, 1.0, 0.001, 1.0];
        for (motion, part) in Motion::ALL.into_iter().zip(parts) {
            assert_eq!(motion.name().parse::<Motion>().ok(), Some(motion));
            let [now, next] = [7, 8].map(|step| motion.boxes(n, Motion::DENSITY, 1, step));
            let moved = now.iter().zip(&next).filter(|(now, next)| now != next).count() as f64 / n as f64;
            // Asleep: some sleep already.
            assert!((moved - part).abs() <= 0.05 * part, "{motion}: {moved}");
        }
        let late = [300, 301].map(|step| Motion::Asleep.boxes(n, Motion::DENSITY, 1, step));
        assert_eq!(late[0], late[1]);
        assert!("fastest".parse::<Motion>().is_err());
    }
}
