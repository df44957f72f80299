//! The meaning of filters, in a plain double loop that shares no code with the library: each rule is written down again
//! from its documentation, and sums are of whole numbers, without any rounding.

use std::cmp::Ordering;
use std::collections::HashSet;

use broadsweep::filter::{GroupRule, HalfSpace};
use broadsweep::{Aabb, Filters, Pair};
use num_bigint::BigInt;

use crate::arithmetic::scaled;

/// Returns every pair that is to be reported, ascending.
pub fn find_pairs(boxes: &[Aabb], filters: &Filters) -> Vec<Pair> {
    let boxes = padded(boxes, filters);
    let set = |pairs: &[Pair]| pairs.iter().map(|&Pair { a, b }| Pair { a: a.min(b), b: a.max(b) }).collect();
    let (exclude, include): (HashSet<Pair>, HashSet<Pair>) = (set(&filters.exclude), set(&filters.include));
    let margin = |i: usize| filters.margin.get(i).copied().unwrap_or(0.0);
    let spheres = filters.sphere.iter().enumerate();
    let spheres: Vec<[f32; 4]> = spheres.map(|(i, &[x, y, z, r])| [x, y, z, raised(r, margin(i))]).collect();
    let mut half_spaces = vec![None; boxes.len()];
    for half_space in &filters.half_spaces {
        half_spaces[half_space.index as usize] = Some(half_space);
    }
    let mut pairs = Vec::new();
    for i in 0..boxes.len() {
        for j in i + 1..boxes.len() {
            let spheres_meet = || match (half_spaces[i], half_spaces[j]) {
                _ if spheres.is_empty() => true,
                (Some(half_space), _) => is_sphere_touched(half_space, spheres[j]),
                (_, Some(half_space)) => is_sphere_touched(half_space, spheres[i]),
                (None, None) => spheres_touch(spheres[i], spheres[j]),
            };
            let meet = match (half_spaces[i], half_spaces[j]) {
                (Some(_), Some(_)) => false,
                (Some(half_space), None) => is_touched(half_space, &boxes[j]),
                (None, Some(half_space)) => is_touched(half_space, &boxes[i]),
                (None, None) => overlap(&boxes[i], &boxes[j]),
            };
            let low = |i: usize| if half_spaces[i].is_some() { [f32::NEG_INFINITY; 3] } else { boxes[i].min };
            let is_owned = || filters.owner.is_none_or(|region| is_in(&region, low(i), low(j)));
            let pair = Pair { a: i as u32, b: j as u32 };
            if meet && spheres_meet() && !exclude.contains(&pair) && is_accepted(filters, i, j) && is_owned() {
                pairs.push(pair);
            }
        }
    }
    pairs.extend(include);
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Returns the indices of the boxes that pair with nothing of themselves, ascending.
pub fn invalid(boxes: &[Aabb], filters: &Filters) -> Vec<u32> {
    let is_half_space = |i: u32| filters.half_spaces.iter().any(|half_space| half_space.index == i);
    let boxes = padded(boxes, filters);
    (0..boxes.len() as u32).filter(|&i| !is_half_space(i) && !is_valid(&boxes[i as usize])).collect()
}

/// Returns whether the lists by box keep a pair.
fn is_accepted(filters: &Filters, i: usize, j: usize) -> bool {
    let Filters { rule, group, mask, body, parent, fixed, sleeping, second, world, .. } = filters;
    let all = |bits: &[u32], i: usize| bits.get(i).copied().unwrap_or(0xffff_ffff);
    let one_way = all(group, i) & all(mask, j) != 0;
    let other_way = all(group, j) & all(mask, i) != 0;
    let groups = match rule {
        GroupRule::Any => one_way | other_way,
        GroupRule::Both => one_way & other_way,
        rule => panic!("the oracle does not know {rule:?}"),
    };
    let body_of = |i: usize| if body.is_empty() { i as u32 } else { body[i] };
    let one_body = !body.is_empty() && body[i] == body[j];
    let child_of = |i: usize, j: usize| match parent.get(i) {
        None | Some(&0xffff_ffff) => false,
        Some(&parent) => parent == body_of(j),
    };
    let two = |flags: &[bool]| flags.get(i) == Some(&true) && flags.get(j) == Some(&true);
    let apart = match (world.get(i), world.get(j)) {
        (None, _) | (_, None) | (Some(&0xffff_ffff), _) | (_, Some(&0xffff_ffff)) => false,
        (Some(one), Some(other)) => one != other,
    };
    let one_set = second.get(i).is_some() && second.get(i) == second.get(j);
    groups && !one_set && !one_body && !child_of(i, j) && !child_of(j, i) && !two(fixed) && !two(sleeping) && !apart
}

/// Returns whether the lower corner of the intersection of two boxes, given by their lower corners, lies in a region.
/// Lower faces belong to the region, upper ones do not.
fn is_in(region: &Aabb, low: [f32; 3], other: [f32; 3]) -> bool {
    (0..3).all(|k| {
        let corner = if low[k] < other[k] { other[k] } else { low[k] };
        let is_empty = region.min[k] >= region.max[k];
        let is_below_end = corner < region.max[k] || region.max[k] == f32::INFINITY;
        !is_empty && region.min[k] <= corner && is_below_end
    })
}

fn is_valid(aabb: &Aabb) -> bool {
    aabb.min.iter().zip(&aabb.max).all(|(min, max)| min <= max)
}

fn overlap(a: &Aabb, b: &Aabb) -> bool {
    (0..3).all(|k| a.min[k] <= b.max[k] && b.min[k] <= a.max[k]) && is_valid(a) && is_valid(b)
}

/// Grows boxes by their margins, rounded outward.
pub fn padded(boxes: &[Aabb], filters: &Filters) -> Vec<Aabb> {
    let pad = |(i, aabb): (usize, &Aabb)| match filters.margin.get(i) {
        None => *aabb,
        Some(&margin) => {
            Aabb { min: aabb.min.map(|min| -raised(-min, margin)), max: aabb.max.map(|max| raised(max, margin)) }
        }
    };
    boxes.iter().enumerate().map(pad).collect()
}

/// Returns the smallest float that is at least `bound + by`.
fn raised(bound: f32, by: f32) -> f32 {
    if !bound.is_finite() {
        return bound;
    }
    let is_enough =
        |sum: f32| sum == f32::INFINITY || sign_of_sum(&[[sum, 1.0], [bound, -1.0], [by, -1.0]]) != Ordering::Less;
    let mut sum = bound + by;
    while !is_enough(sum) {
        sum = sum.next_up();
    }
    while is_enough(sum.next_down()) {
        sum = sum.next_down();
    }
    sum
}

/// Returns whether a point of the box is in the half-space.
fn is_touched(HalfSpace { normal, offset, .. }: &HalfSpace, aabb: &Aabb) -> bool {
    // The corner that lies deepest, in the coordinates that matter.
    let corner: Vec<[f32; 2]> = (0..3)
        .filter(|&k| normal[k] != 0.0)
        .map(|k| [normal[k], if normal[k] > 0.0 { aabb.min[k] } else { aabb.max[k] }])
        .collect();
    let is_at = |infinity: f32| corner.iter().any(|&[n, x]| x.is_infinite() && n.signum() * x == infinity);
    if !is_valid(aabb) || is_at(f32::NEG_INFINITY) || is_at(f32::INFINITY) {
        return is_valid(aabb) && is_at(f32::NEG_INFINITY);
    }
    sign_of_sum(&[&corner[..], &[[*offset, -1.0]]].concat()) != Ordering::Greater
}

/// Returns whether two spheres have a point in common.
pub fn spheres_touch(a: [f32; 4], b: [f32; 4]) -> bool {
    if a[3].is_infinite() || b[3].is_infinite() {
        return true;
    }
    let along = (0..3).map(|k| scaled(a[k]) - scaled(b[k]));
    let reach = scaled(a[3]) + scaled(b[3]);
    along.map(|d| &d * &d).sum::<BigInt>() <= &reach * &reach
}

/// Returns whether a point of the sphere is in the half-space.
pub fn is_sphere_touched(HalfSpace { normal, offset, .. }: &HalfSpace, sphere: [f32; 4]) -> bool {
    if sphere[3].is_infinite() {
        return true;
    }
    let products = (0..3).map(|k| scaled(normal[k]) * scaled(sphere[k]));
    let height = products.sum::<BigInt>() - (scaled(*offset) << 149);
    let square = (0..3).map(|k| scaled(normal[k])).map(|n| &n * &n).sum::<BigInt>();
    let radius = scaled(sphere[3]);
    height <= BigInt::ZERO || &height * &height <= &radius * &radius * square
}

/// Compares the sum of products of finite numbers with zero: in whole numbers of 2⁻²⁹⁸, which every such product is a
/// multiple of.
fn sign_of_sum(products: &[[f32; 2]]) -> Ordering {
    // Limbs of 32 bits, the lowest first, with space for carries.
    let mut limbs = [0i64; 20];
    for factors in products {
        let [(x, at_x), (y, at_y)] = factors.map(whole);
        let (product, at) = (x * y, at_x + at_y);
        let shifted = u128::from(product.unsigned_abs()) << (at % 32);
        for k in 0..3 {
            limbs[at / 32 + k] += product.signum() * i64::from((shifted >> (32 * k)) as u32);
        }
    }
    let (mut carry, mut is_zero) = (0, true);
    for limb in limbs {
        let sum = limb + carry;
        is_zero &= sum as u32 == 0;
        carry = sum >> 32;
    }
    match (is_zero, carry < 0) {
        (true, _) => Ordering::Equal,
        (false, true) => Ordering::Less,
        (false, false) => Ordering::Greater,
    }
}

/// Returns a float as a whole number below 2²⁴ and the power of two above 2⁻¹⁴⁹ by which it is multiplied.
fn whole(x: f32) -> (i64, usize) {
    let (exponent, fraction) = (x.to_bits() >> 23 & 0xff, i64::from(x.to_bits() & 0x7f_ffff));
    let (magnitude, at) = if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 23, exponent as usize - 1) };
    (if x.is_sign_negative() { -magnitude } else { magnitude }, at)
}

#[test]
fn sums_of_whole_numbers_know_their_sign() {
    let (tiny, huge) = (f32::from_bits(1), f32::MAX);
    assert_eq!(sign_of_sum(&[]), Ordering::Equal);
    assert_eq!(sign_of_sum(&[[huge, huge], [-huge, huge], [tiny, tiny]]), Ordering::Greater);
    assert_eq!(sign_of_sum(&[[huge, huge], [-huge, huge], [-tiny, tiny]]), Ordering::Less);
    assert_eq!(sign_of_sum(&[[huge, -huge], [huge, huge], [-0.0, 1.0]]), Ordering::Equal);
    assert_eq!(sign_of_sum(&[[0.1, 10.0], [1.0, -1.0]]), Ordering::Greater); // 0.1 in f32 is more than a tenth
    assert_eq!(raised(1.0, tiny), 1.0f32.next_up());
    assert_eq!(raised(-1.0, tiny), (-1.0f32).next_up());
    assert_eq!((raised(1.0, 0.0), raised(huge, 1.0), raised(huge, 0.0)), (1.0, f32::INFINITY, huge));
    assert_eq!(raised(-tiny, tiny), 0.0);
}
