//! Numbers on which the arithmetic of margins and half-spaces could go wrong, drawn from `bits`: a source of random
//! bits.

use broadsweep::Aabb;
use broadsweep::filter::HalfSpace;

type Bits<'a> = &'a mut dyn FnMut() -> u64;

fn below(bits: Bits, count: u64) -> u64 {
    bits() % count
}

/// Creates any finite number, each exponent as often as another.
fn any_finite(bits: Bits) -> f32 {
    loop {
        let value = f32::from_bits(bits() as u32);
        if value.is_finite() {
            return value;
        }
    }
}

/// Creates a number of few bits, so that sums and products are often exact; sometimes zero, of either sign.
fn few_bits(bits: Bits) -> f32 {
    let whole = (bits() % 33) as f32 - 16.0;
    let sign = if below(bits, 2) == 0 { -1.0 } else { 1.0 };
    sign * whole * 2f32.powi(below(bits, 5) as i32 - 2)
}

/// Creates a number of about the size of one.
fn moderate(bits: Bits) -> f32 {
    f32::from_bits(bits() as u32 & 0x81ff_ffff | 0x3f00_0000)
}

fn denormal(bits: Bits) -> f32 {
    f32::from_bits(bits() as u32 & 0x807f_ffff)
}

/// Returns a number up to `steps` places above or below `value` in the order of f32.
fn near(value: f32, steps: u64, bits: Bits) -> f32 {
    let is_up = below(bits, 2) == 0;
    (0..below(bits, steps + 1)).fold(value, |x, _| if is_up { x.next_up() } else { x.next_down() })
}

/// Returns `value`, or the largest finite number where it is infinite.
fn finite(value: f32) -> f32 {
    value.clamp(f32::MIN, f32::MAX)
}

/// Creates a bound and a margin.
pub fn bound_and_margin(bits: Bits) -> (f32, f32) {
    let (bound, margin) = match below(bits, 8) {
        // Infinite bounds and NaNs too.
        0 => (f32::from_bits(bits() as u32), any_finite(bits)),
        1 => (any_finite(bits), 0.0),
        2 => (few_bits(bits), few_bits(bits)),
        3 => (denormal(bits), denormal(bits)),
        // Sums that cancel, up to a few last bits.
        4 => {
            let bound = any_finite(bits);
            (bound, near(bound, 3, bits))
        }
        // Exponents that are apart by as many as there are bits, or a few more or less: ties, and what is beyond them.
        5 | 6 => {
            let bound = any_finite(bits);
            let apart = 2f64.powi(20 + below(bits, 16) as i32);
            let margin = f64::from(bound) / apart * [1.0, 0.75, 0.5][below(bits, 3) as usize];
            let bound = if below(bits, 2) == 0 { 2f32.powi(bound.abs().log2() as i32) } else { bound };
            let bound = if below(bits, 2) == 0 { -bound } else { bound };
            let pair = [bound, margin as f32];
            let swapped = below(bits, 2) as usize;
            (pair[swapped], pair[1 - swapped])
        }
        // Up to infinity.
        _ => {
            let large =
                |bits: Bits| f32::from_bits((0x7f7f_ffff - (bits() as u32 & 0x01ff_ffff)) & !(bits() as u32 & 0xff));
            let sign = if below(bits, 2) == 0 { -1.0 } else { 1.0 };
            (sign * large(bits), large(bits))
        }
    };
    (bound, finite(margin.abs()))
}

/// Creates a half-space, mostly valid, and a box that is valid, whose deepest corner is often next to the plane.
pub fn half_space_and_box(bits: Bits) -> (HalfSpace, Aabb) {
    let number = [any_finite, few_bits, moderate, denormal][below(bits, 4) as usize];
    let mut normal = [0; 3].map(|_| number(bits));
    let number = if below(bits, 4) == 0 { any_finite } else { number };
    let mut corner = [0; 3].map(|_| number(bits));
    let mut offset = number(bits);
    let k = below(bits, 3) as usize;
    let (l, m) = ((k + 1) % 3, (k + 2) % 3);
    let kind = below(bits, 8);
    match kind {
        0 => {}
        // Zeros, of either sign.
        1 => {
            normal[k] = f32::copysign(0.0, normal[k]);
            corner[m] = f32::copysign(0.0, corner[m]);
        }
        // Two products cancel, up to a few last bits; what is left may be far smaller.
        2 | 3 => {
            corner[k] = near(normal[l], kind - 2, bits);
            corner[l] = -normal[k];
            let scale = 2f32.powi(-(below(bits, 90) as i32));
            (normal[m], corner[m]) = (finite(normal[m] * scale), finite(corner[m] * scale));
        }
        // All three do.
        4 => {
            normal[l] = normal[k];
            normal[m] = near(normal[k], 1, bits);
            corner[m] = finite(-corner[k] - corner[l]);
        }
        // Against the normal, or along it.
        5 => corner = normal.map(|n| if offset < 0.0 { -n } else { n }),
        // An exponent for each term.
        6 => {
            for j in 0..3 {
                normal[j] = moderate(bits) * 2f32.powi(below(bits, 250) as i32 - 125);
                corner[j] = moderate(bits) * 2f32.powi(below(bits, 250) as i32 - 125);
            }
        }
        _ => {}
    }
    if below(bits, 4) != 0 {
        let sum: f64 = (0..3).map(|j| f64::from(normal[j]) * f64::from(corner[j])).sum();
        offset = finite(near(finite(sum as f32), 2, bits));
    }

    let (mut min, mut max) = (corner, corner);
    for j in 0..3 {
        let other = match below(bits, 8) {
            0 => corner[j],
            1 => f32::INFINITY,
            _ => number(bits).abs(),
        };
        // The box reaches from the corner away from the half-space; sometimes into it.
        if (normal[j] > 0.0) != (below(bits, 16) == 0) {
            max[j] = max[j].max(other);
        } else {
            min[j] = min[j].min(-other);
        }
        if below(bits, 64) == 0 {
            (min[j], max[j]) = if below(bits, 2) == 0 { (max[j], f32::INFINITY) } else { (f32::NEG_INFINITY, min[j]) };
        }
        if below(bits, 64) == 0 {
            let infinity = if below(bits, 2) == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
            (min[j], max[j]) = (infinity, infinity);
        }
    }
    (HalfSpace { index: 0, normal, offset }, Aabb::new(min, max))
}
