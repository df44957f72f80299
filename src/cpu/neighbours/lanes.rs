//! Tests four targets at a time, on rounded coordinates.

use glam::Vec4;

/// Targets per test.
pub const LANES: usize = 4;
/// The largest relative error of a square in `f32`, of five roundings.
const ERROR_32: f64 = 1.0 / (1u32 << 20) as f64;
/// The largest relative error of a square in `f64`.
const ERROR_64: f64 = 1.0 / (1u64 << 48) as f64;
/// `f32` is used if the error of distances, relative to the reach, is at most this.
const MOST_ERROR_32: f64 = 1.0 / 64.0;
/// 2 √3: the length of a vector whose components are two errors each, in units of the error.
const SPREAD: f64 = 3.4642;

/// Limits for squared distances, and the format of the numbers: `f32` or `f64`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A power of two that scales the reach to about 1.
    scale: f64,
    center: [f64; 3],
    /// A target with a larger square is out of reach.
    high: f64,
    /// A target with a square of at most this is in reach. Negative if the radii of points differ; each pair is then
    /// decided by its own radii.
    low: f64,
    /// True if numbers are `f32`.
    pub is_single: bool,
}

impl Limits {
    /// Returns the limits for points in these bounds, with these errors along each axis.
    pub fn new(radius: f64, bounds: &[[f64; 3]; 2], errors: &[f64; 3]) -> Self {
        let center = std::array::from_fn(|k| 0.5 * bounds[0][k] + 0.5 * bounds[1][k]);
        let half = (0..3).map(|k| 0.5 * bounds[1][k] - 0.5 * bounds[0][k]).fold(0.0, f64::max);
        let error = errors.iter().copied().fold(0.0, f64::max);
        let scale = f64::from_bits((0x7fe << 52) - (radius.clamp(1e-300, 1e300).to_bits() & 0x7ff << 52));
        let scaled = radius * scale;
        // Rounding to `f32`, and rounding by the subtraction of the center.
        let error_32 = SPREAD * scale * (error * 1.01 + half * (f64::from(f32::EPSILON) * 0.5001));
        let is_single = scaled >= 1.0 && error_32 <= MOST_ERROR_32 * scaled;
        let (error, relative) = if is_single { (error_32, ERROR_32) } else { (SPREAD * scale * error, ERROR_64) };
        let (high, low) = (scaled + error, scaled - error);
        let high = high * high * (1.0 + relative);
        let low = if low > 0.0 { low * low * (1.0 - relative) } else { -1.0 };
        Self { scale, center, high, low, is_single }
    }
}

/// A number type in which places are stored and compared.
pub trait Lane: Copy + Default + Send + Sync {
    /// Stores a place.
    fn store(place: &[f64; 3], limits: &Limits) -> [Self; 3];

    /// Returns a bit per target that may be in reach of a place, and a bit per undecided target.
    fn test(place: &[Self; 3], targets: [&[Self; LANES]; 3], limits: &LaneLimits) -> [u32; 2];

    /// Returns whether a single target is in reach; `None` if it is undecided.
    fn decide(place: &[Self; 3], target: &[Self; 3], limits: &LaneLimits) -> Option<bool> {
        let [x, y, z] = target.map(|x| [x; LANES]);
        let [within, undecided] = Self::test(place, [&x, &y, &z], limits);
        (undecided == 0).then_some(within != 0)
    }
}

impl Limits {
    /// Converts limits of the largest radii to limits for points with different radii.
    pub fn of_radii(self) -> Self {
        Self { low: -1.0, ..self }
    }
}

/// [`Limits`] in the registers of a loop.
#[derive(Clone, Copy, Debug)]
pub struct LaneLimits {
    high: f64,
    low: f64,
    scale: f64,
    single: [Vec4; 2],
}

impl From<&Limits> for LaneLimits {
    fn from(limits: &Limits) -> Self {
        let single = [(limits.high as f32).next_up(), (limits.low as f32).next_down()].map(Vec4::splat);
        Self { high: limits.high, low: limits.low, scale: limits.scale, single }
    }
}

impl Lane for f32 {
    #[inline]
    fn store(place: &[f64; 3], limits: &Limits) -> [Self; 3] {
        std::array::from_fn(|k| ((place[k] - limits.center[k]) * limits.scale) as f32)
    }

    #[inline(always)]
    fn test(place: &[Self; 3], targets: [&[Self; LANES]; 3], limits: &LaneLimits) -> [u32; 2] {
        let along = |k: usize| Vec4::from_array(*targets[k]) - Vec4::splat(place[k]);
        let (x, y, z) = (along(0), along(1), along(2));
        let square = x * x + y * y + z * z;
        let within = square.cmple(limits.single[0]).bitmask();
        [within, within & !square.cmple(limits.single[1]).bitmask()]
    }
}

impl Lane for f64 {
    #[inline]
    fn store(place: &[f64; 3], _: &Limits) -> [Self; 3] {
        *place
    }

    #[inline(always)]
    fn test(place: &[Self; 3], targets: [&[Self; LANES]; 3], limits: &LaneLimits) -> [u32; 2] {
        let mut masks = [0; 2];
        let [x, y, z] = targets;
        for (lane, ((x, y), z)) in x.iter().zip(y).zip(z).enumerate() {
            let along = |x: f64, own: f64| (x - own) * limits.scale;
            let (x, y, z) = (along(*x, place[0]), along(*y, place[1]), along(*z, place[2]));
            let square = x * x + y * y + z * z;
            let within = u32::from(square <= limits.high);
            masks[0] |= within << lane;
            masks[1] |= (within & u32::from(square > limits.low)) << lane;
        }
        masks
    }
}

/// Converts the number of a target to an `f32` in the same order. Numbers start at the smallest normal `f32`, since
/// processors may flush smaller numbers to 0.
#[inline]
pub fn number_as_float(number: u32) -> f32 {
    f32::from_bits(number + FIRST_NUMBER)
}

/// Returns the number of a target.
#[inline]
pub fn float_as_number(float: f32) -> u32 {
    float.to_bits() - FIRST_NUMBER
}

const FIRST_NUMBER: u32 = 1 << 23;

/// Returns a bit per number: set if it is at least `first`.
#[inline(always)]
pub fn from_number(numbers: &[f32; LANES], first: Vec4) -> u32 {
    Vec4::from_array(*numbers).cmpge(first).bitmask()
}
