//! Boxes and numbers to test with.

use broadsweep::Aabb;
use proptest::prelude::*;
use proptest::sample::select;

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Draws a number from 0 up to, not including, `count`.
    pub fn below(&mut self, count: u32) -> u32 {
        (((self.next() >> 32) * u64::from(count)) >> 32) as u32
    }

    /// Draws a number from `low` up to `high`.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }
}

/// Every kind of number that the exact test must order, ascending, then NaNs of both signs.
pub const SPECIAL: [f32; 16] = [
    f32::NEG_INFINITY,
    f32::MIN,
    -1.5,
    -f32::MIN_POSITIVE,
    -DENORMAL,
    -f32::from_bits(1),
    -0.0,
    0.0,
    f32::from_bits(1),
    DENORMAL,
    f32::MIN_POSITIVE,
    1.5,
    f32::MAX,
    f32::INFINITY,
    f32::NAN,
    -f32::NAN,
];

/// In the middle of the denormals.
const DENORMAL: f32 = f32::from_bits(0x0040_0000);

/// Creates ordinary boxes in a cube of edge 20 around (3, 0, -7).
pub fn ordinary(n: u32, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| {
            let min = [-7.0, -10.0, -17.0].map(|low| random.between(low, low + 20.0));
            Aabb::new(min, min.map(|x| x + random.between(0.0, 1.0)))
        })
        .collect()
}

/// Creates the same boxes with every seventh one invalid, unbounded, or far out.
pub fn mixed(n: u32, seed: u64) -> Vec<Aabb> {
    let mut boxes = ordinary(n, seed);
    let mut random = Random::new(seed ^ 1);
    for aabb in boxes.iter_mut().step_by(7) {
        let k = random.below(3) as usize;
        match random.below(6) {
            0 => aabb.min[k] = f32::NAN,
            1 => aabb.max[k] = f32::INFINITY,
            2 => aabb.min[k] = f32::NEG_INFINITY,
            3 => std::mem::swap(&mut aabb.min[k], &mut aabb.max[k]),
            4 => aabb.max[k] = f32::MAX,
            _ => aabb.min[k] = -1e30,
        }
    }
    boxes
}

/// Boxes that often touch: corners in a small lattice, with zeros of both signs.
pub fn lattice(n: u32, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| {
            let min = [0; 3].map(|_| random.below(5) as f32 - 2.0);
            let max = min.map(|x| if random.below(4) == 0 { -x } else { x + random.below(3) as f32 });
            let (low, high) =
                (std::array::from_fn(|k| min[k].min(max[k])), std::array::from_fn(|k| min[k].max(max[k])));
            Aabb::new(low, high)
        })
        .collect()
}

/// Creates any box, mostly ordinary ones. No bound is denormal or becomes so when it is scaled: a driver may flush
/// denormals to zero.
pub fn any_box() -> impl Strategy<Value = Aabb> {
    let special = SPECIAL.iter().copied().filter(|x| *x == 0.0 || x.abs() > 1.0 || x.is_nan()).collect::<Vec<_>>();
    let coordinate = prop_oneof![30 => -10.0f32..10.0, 1 => -1e30f32..1e30, 1 => select(special)];
    let corners = prop::array::uniform6(coordinate);
    (corners, 0..10u32).prop_map(|(c, keep)| {
        let order = |k: usize| if keep == 0 || c[k] <= c[k + 3] { (c[k], c[k + 3]) } else { (c[k + 3], c[k]) };
        let axes = [0, 1, 2].map(order);
        Aabb::new(axes.map(|axis| axis.0), axes.map(|axis| axis.1))
    })
}
