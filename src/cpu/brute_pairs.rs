//! The oracle: the closed test on every two boxes.

use std::collections::HashSet;

use crate::base::reserve::push;
use crate::filters::{NO_SPHERE, WHOLE_SPACE, padded, padded_sphere, spheres_touch};
use crate::{Aabb, Error, Filters, Pair};

/// Finds every overlapping pair, ascending, by `n (n - 1) / 2` tests. This loop defines the result.
///
/// # Panics
/// If there is no memory for the list; [`try_find_pairs`] returns an error instead.
pub fn find_pairs(boxes: &[Aabb]) -> Vec<Pair> {
    listed(try_find_pairs(boxes))
}

/// Does the same as [`find_pairs`], but returns an error instead of a panic.
///
/// # Errors
/// [`Error::ListTooLong`] if there is no memory for the list.
pub fn try_find_pairs(boxes: &[Aabb]) -> Result<Vec<Pair>, Error> {
    let mut pairs = Vec::new();
    for (a, box_a) in boxes.iter().enumerate() {
        for (b, box_b) in boxes.iter().enumerate().skip(a + 1) {
            if box_a.overlaps(box_b) {
                push(&mut pairs, Pair { a: a as u32, b: b as u32 })?;
            }
        }
    }
    Ok(pairs)
}

/// Finds every pair that `filters` accept, ascending: the same double loop, with each filter as documented.
///
/// # Panics
/// If [`Filters::check`] refuses the filters, or if there is no memory for the list. [`try_find_filtered_pairs`]
/// returns an error if there is no memory.
pub fn find_filtered_pairs(boxes: &[Aabb], filters: &Filters) -> Vec<Pair> {
    listed(try_find_filtered_pairs(boxes, filters))
}

/// Does the same as [`find_filtered_pairs`], but returns an error if there is no memory.
///
/// # Errors
/// [`Error::ListTooLong`] if there is no memory for the list.
///
/// # Panics
/// If [`Filters::check`] refuses the filters.
pub fn try_find_filtered_pairs(boxes: &[Aabb], filters: &Filters) -> Result<Vec<Pair>, Error> {
    let padded = |i: usize| filters.margin.get(i).map_or(boxes[i], |&margin| padded(&boxes[i], margin));
    let boxes: Vec<Aabb> = (0..boxes.len()).map(padded).collect();
    let margin = |i: usize| filters.margin.get(i).copied().unwrap_or(0.0);
    let spheres: Vec<_> = (0..).zip(&filters.sphere).map(|(i, sphere)| padded_sphere(*sphere, margin(i))).collect();
    // Indexed by box, since thousands of worlds may each have a floor.
    let mut half_spaces = vec![None; boxes.len()];
    filters.half_spaces.iter().for_each(|half_space| half_spaces[half_space.index as usize] = Some(half_space));
    let set = |pairs: &[Pair]| pairs.iter().map(|pair| Pair::new(pair.a, pair.b)).collect::<HashSet<Pair>>();
    let (exclude, include) = (set(&filters.exclude), set(&filters.include));
    let mut pairs = Vec::new();
    for a in 0..boxes.len() as u32 {
        for b in a + 1..boxes.len() as u32 {
            let (box_a, box_b) = (&boxes[a as usize], &boxes[b as usize]);
            let sphere = |i: u32| spheres.get(i as usize).unwrap_or(&NO_SPHERE);
            let meet = match (half_spaces[a as usize], half_spaces[b as usize]) {
                (None, None) => box_a.overlaps(box_b) && spheres_touch(sphere(a), sphere(b)),
                (Some(half_space), None) => half_space.touches(box_b) && half_space.touches_sphere(sphere(b)),
                (None, Some(half_space)) => half_space.touches(box_a) && half_space.touches_sphere(sphere(a)),
                (Some(_), Some(_)) => false,
            };
            let own = |i: u32| if half_spaces[i as usize].is_some() { &WHOLE_SPACE } else { &boxes[i as usize] };
            let is_owned = filters.owner.is_none_or(|region| region.owns(own(a), own(b)));
            let pair = Pair { a, b };
            if include.contains(&pair) || meet && is_owned && filters.passes(a, b) && !exclude.contains(&pair) {
                push(&mut pairs, pair)?;
            }
        }
    }
    Ok(pairs)
}

/// Unwraps a list, or panics with its error.
fn listed(pairs: Result<Vec<Pair>, Error>) -> Vec<Pair> {
    match pairs {
        Ok(pairs) => pairs,
        Err(error) => panic!("{error}"),
    }
}
