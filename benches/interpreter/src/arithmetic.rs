//! Functions of words, as WGSL defines them. Where WGSL leaves the result open, it is Rust's.

use crate::program::{One, Three, Two};

fn f(word: u32) -> f32 {
    f32::from_bits(word)
}

/// Writes a function of one word for each lane.
pub fn one(function: One, to: &mut [u32], a: &[u32]) {
    fn map(to: &mut [u32], a: &[u32], function: impl Fn(u32) -> u32) {
        to.iter_mut().zip(a).for_each(|(to, &a)| *to = function(a));
    }
    let float = |function: fn(f32) -> f32| move |x: u32| function(f(x)).to_bits();
    match function {
        One::Copy => to.copy_from_slice(a),
        One::NegateF => map(to, a, |x| x ^ 0x8000_0000),
        One::NegateI => map(to, a, u32::wrapping_neg),
        One::Not => map(to, a, |x| u32::from(x == 0)),
        One::Complement => map(to, a, |x| !x),
        One::AbsF => map(to, a, |x| x & 0x7fff_ffff),
        One::AbsI => map(to, a, |x| (x as i32).wrapping_abs() as u32),
        One::Ceil => map(to, a, float(f32::ceil)),
        One::Floor => map(to, a, float(f32::floor)),
        One::Round => map(to, a, float(f32::round_ties_even)),
        One::Trunc => map(to, a, float(f32::trunc)),
        One::Fract => map(to, a, float(|x| x - x.floor())),
        One::Sqrt => map(to, a, float(f32::sqrt)),
        One::InverseSqrt => map(to, a, float(|x| 1.0 / x.sqrt())),
        One::Exp => map(to, a, float(f32::exp)),
        One::Exp2 => map(to, a, float(f32::exp2)),
        One::Log => map(to, a, float(f32::ln)),
        One::Log2 => map(to, a, float(f32::log2)),
        One::Sin => map(to, a, float(f32::sin)),
        One::Cos => map(to, a, float(f32::cos)),
        One::SignF => map(
            to,
            a,
            float(|x| {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            }),
        ),
        One::SignI => map(to, a, |x| (x as i32).signum() as u32),
        One::TrailingZeros => map(to, a, u32::trailing_zeros),
        One::LeadingZeros => map(to, a, u32::leading_zeros),
        One::Ones => map(to, a, u32::count_ones),
        One::Reverse => map(to, a, u32::reverse_bits),
        One::LowestBit => map(to, a, |x| if x == 0 { u32::MAX } else { x.trailing_zeros() }),
        One::HighestBitU => map(to, a, highest_bit),
        One::HighestBitI => map(to, a, |x| highest_bit(if (x as i32) < 0 { !x } else { x })),
        One::FromFToU => map(to, a, |x| f(x) as u32),
        One::FromFToI => map(to, a, |x| f(x) as i32 as u32),
        One::FromUToF => map(to, a, |x| (x as f32).to_bits()),
        One::FromIToF => map(to, a, |x| (x as i32 as f32).to_bits()),
        One::ToBool => map(to, a, |x| u32::from(x != 0)),
        One::FToBool => map(to, a, |x| u32::from(f(x) != 0.0)),
    }
}

fn highest_bit(x: u32) -> u32 {
    if x == 0 { u32::MAX } else { 31 - x.leading_zeros() }
}

/// Returns a function of two words.
pub fn two_of(function: Two, a: u32, b: u32) -> u32 {
    let mut to = [0];
    two(function, &mut to, &[a], &[b]);
    to[0]
}

/// Writes a function of two words for each lane.
pub fn two(function: Two, to: &mut [u32], a: &[u32], b: &[u32]) {
    fn map(to: &mut [u32], a: &[u32], b: &[u32], function: impl Fn(u32, u32) -> u32) {
        to.iter_mut().zip(a).zip(b).for_each(|((to, &a), &b)| *to = function(a, b));
    }
    fn float(to: &mut [u32], a: &[u32], b: &[u32], function: impl Fn(f32, f32) -> f32) {
        map(to, a, b, |a, b| function(f(a), f(b)).to_bits());
    }
    fn signed(to: &mut [u32], a: &[u32], b: &[u32], function: impl Fn(i32, i32) -> i32) {
        map(to, a, b, |a, b| function(a as i32, b as i32) as u32);
    }
    match function {
        Two::AddF => float(to, a, b, |a, b| a + b),
        Two::AddI => map(to, a, b, u32::wrapping_add),
        Two::SubF => float(to, a, b, |a, b| a - b),
        Two::SubI => map(to, a, b, u32::wrapping_sub),
        Two::MulF => float(to, a, b, |a, b| a * b),
        Two::MulI => map(to, a, b, u32::wrapping_mul),
        Two::DivF => float(to, a, b, |a, b| a / b),
        Two::DivU => map(to, a, b, |a, b| a.checked_div(b).unwrap_or(a)),
        Two::DivI => signed(to, a, b, |a, b| a.checked_div(b).unwrap_or(a)),
        Two::RemF => float(to, a, b, |a, b| a % b),
        Two::RemU => map(to, a, b, |a, b| a.checked_rem(b).unwrap_or(0)),
        Two::RemI => signed(to, a, b, |a, b| a.checked_rem(b).unwrap_or(0)),
        Two::EqualF => map(to, a, b, |a, b| u32::from(f(a) == f(b))),
        Two::Equal => map(to, a, b, |a, b| u32::from(a == b)),
        Two::LessF => map(to, a, b, |a, b| u32::from(f(a) < f(b))),
        Two::LessU => map(to, a, b, |a, b| u32::from(a < b)),
        Two::LessI => map(to, a, b, |a, b| u32::from((a as i32) < b as i32)),
        Two::LessEqualF => map(to, a, b, |a, b| u32::from(f(a) <= f(b))),
        Two::LessEqualU => map(to, a, b, |a, b| u32::from(a <= b)),
        Two::LessEqualI => map(to, a, b, |a, b| u32::from(a as i32 <= b as i32)),
        Two::And => map(to, a, b, |a, b| a & b),
        Two::Or => map(to, a, b, |a, b| a | b),
        Two::Xor => map(to, a, b, |a, b| a ^ b),
        Two::ShiftLeft => map(to, a, b, u32::wrapping_shl),
        Two::ShiftRightU => map(to, a, b, u32::wrapping_shr),
        Two::ShiftRightI => map(to, a, b, |a, b| (a as i32).wrapping_shr(b) as u32),
        Two::MinF => float(to, a, b, f32::min),
        Two::MinU => map(to, a, b, u32::min),
        Two::MinI => signed(to, a, b, i32::min),
        Two::MaxF => float(to, a, b, f32::max),
        Two::MaxU => map(to, a, b, u32::max),
        Two::MaxI => signed(to, a, b, i32::max),
        Two::Pow => float(to, a, b, f32::powf),
    }
}

/// Writes a function of three words for each lane.
pub fn three(function: Three, to: &mut [u32], a: &[u32], b: &[u32], c: &[u32]) {
    let function: fn(u32, u32, u32) -> u32 = match function {
        Three::Select => |a, b, c| if a != 0 { b } else { c },
        Three::Fma => |a, b, c| f(a).mul_add(f(b), f(c)).to_bits(),
        Three::ExtractU => |a: u32, at: u32, count: u32| {
            let (at, count) = (at.min(32), count.min(32 - at.min(32)));
            if count == 0 { 0 } else { (a >> at) & (u32::MAX >> (32 - count)) }
        },
        Three::ExtractI => |a: u32, at: u32, count: u32| {
            let (at, count) = (at.min(32), count.min(32 - at.min(32)));
            if count == 0 { 0 } else { (((a << (32 - count - at)) as i32) >> (32 - count)) as u32 }
        },
    };
    for (((to, &a), &b), &c) in to.iter_mut().zip(a).zip(b).zip(c) {
        *to = function(a, b, c);
    }
}
