//! A seeded generator of numbers that are the same on every platform.

/// SplitMix64: a counter through a mixing function, 64 bits of state.
///
/// Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", with the constants
/// of Vigna's `splitmix64.c` (public domain).
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// Creates a generator of its own for each pair of a seed and a `stream`, which distinguishes the scenes.
    pub fn new(seed: u64, stream: &str) -> Self {
        let mut random = Self { state: seed };
        for byte in stream.bytes() {
            random.state = random.next() ^ u64::from(byte);
        }
        random
    }

    /// Creates a generator of its own for each `index`, such as the index of a box. It does not use up [`Random::next`]
    /// of the parent, so what one box draws does not change what the next box gets.
    pub fn of(&self, index: usize) -> Self {
        let mut random = Self { state: self.state ^ (index as u64).wrapping_mul(0xd1b5_4a32_d192_ed03) };
        // Neighbouring states give neighbouring counters; mixed ones have nothing in common.
        random.state = random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws a number uniform in `[0, 1)`, a multiple of 2⁻²⁴, so that it is exact in `f32` too.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 40) as f64 / f64::from(1 << 24)
    }

    /// Draws three of [`Random::unit`].
    pub fn unit3(&mut self) -> [f64; 3] {
        [self.unit(), self.unit(), self.unit()]
    }

    /// Draws a number uniform in `[low, high)`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Draws a number uniform in `0..count`; `count` is small against 2²⁴, so that the bias does not matter here.
    pub fn below(&mut self, count: u32) -> u32 {
        (((self.next() >> 32) * u64::from(count)) >> 32) as u32
    }

    /// Draws a point uniform in the ball of radius 1, by rejection.
    pub fn in_ball(&mut self) -> [f64; 3] {
        loop {
            let point = self.unit3().map(|u| 2.0 * u - 1.0);
            if point.iter().map(|x| x * x).sum::<f64>() <= 1.0 {
                return point;
            }
        }
    }

    /// Draws a number that is nearly Gaussian, with mean 0 and deviation 1: the sum of twelve uniform numbers less six
    /// (Irwin-Hall). This needs no logarithm, and never leaves `[-6, 6]`.
    pub fn gauss(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Raises `base` to a power in `[0, 1)`, by repeated square roots: one for every bit of the exponent. `powf` would
/// round differently from one C library to the next.
pub(super) fn power(base: f64, exponent: f64) -> f64 {
    let (mut root, mut rest, mut product) = (base, exponent, 1.0);
    for _ in 0..24 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            rest -= 1.0;
            product *= root;
        }
    }
    product
}

/// Returns the cube root of a positive number, by Newton's method from above.
pub(super) fn cube_root(value: f64) -> f64 {
    let mut root = value.max(1.0);
    loop {
        let next = (2.0 * root + value / (root * root)) / 3.0;
        // From above the sequence falls until rounding stops it.
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_numbers() {
        let mut random = Random { state: 1_234_567 };
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn powers_and_cube_roots_agree_with_the_standard_library() {
        for i in 0..1000 {
            let exponent = f64::from(i) / 1024.0;
            assert!((power(100.0, exponent) / 100f64.powf(exponent) - 1.0).abs() < 1e-12);
        }
        for value in [1e-30, 1e-4, 0.5, 1.0, 8.0, 1e6, 4e9, 1e30] {
            assert!((cube_root(value) / value.cbrt() - 1.0).abs() < 1e-14, "{value}");
        }
    }

    #[test]
    fn the_bell_has_mean_zero_and_deviation_one() {
        let mut random = Random::new(1, "bell");
        let numbers: Vec<f64> = (0..100_000).map(|_| random.gauss()).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }
}
