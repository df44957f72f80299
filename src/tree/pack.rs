//! Packs queries into consecutive `u32` for kernels.

use std::borrow::Cow;
use std::collections::HashMap;

use rayon::prelude::*;

use super::query::Listed;
use crate::base::constants::REGION_U32_COUNT;
use crate::queries::{QueryFilter, QueryFilters, Region};
use crate::{Filters, Shape};

/// Queries of a batch, as u32 words.
#[derive(Debug)]
pub struct Packed<'a> {
    /// The numbers of all queries, then half-spaces.
    pub words: Cow<'a, [u32]>,
    /// The u32 count of a query.
    pub stride: u32,
    /// The begin of the half-spaces in `words`.
    pub parts: u32,
    /// The count of queries.
    pub count: usize,
}

impl<'a> Packed<'a> {
    /// Wraps queries that are packed already.
    pub fn of_words(words: impl Into<Cow<'a, [u32]>>, count: usize) -> Self {
        let words = words.into();
        let stride = words.len().checked_div(count).unwrap_or(0) as u32;
        Self { stride, parts: words.len() as u32, words, count }
    }
}

/// The u32 count of a packed region: its bounds, and its range of half-spaces.
const REGION: usize = REGION_U32_COUNT as usize;

/// Packs shapes from the first on, at least one, up to `most` words.
pub fn shapes<S: Shape>(shapes: &[S], most: usize) -> (Packed<'_>, Listed) {
    if let Some(words) = S::words(&shapes[..0]) {
        debug_assert!(words.is_empty());
        let stride = size_of::<S>() / size_of::<u32>();
        let count = shapes.len().min((most / stride).max(1));
        let words = S::words(&shapes[..count]).unwrap_or_default();
        return (Packed::of_words(words, count), if stride == 4 { Listed::Sphere } else { Listed::Touch });
    }
    let (mut bounds, mut parts) = (Vec::new(), Vec::new());
    for shape in shapes {
        let first = parts.len();
        match shape.region() {
            Some(region) => {
                let own = region.bounds();
                region.each_half_space(|part| parts.extend(part.map(f32::to_bits)));
                bounds.extend(own.min.iter().chain(&own.max).map(|x| x.to_bits()));
            }
            // The bounds of a region without points.
            None => bounds.extend([f32::INFINITY; 3].iter().chain(&[f32::NEG_INFINITY; 3]).map(|x| x.to_bits())),
        }
        bounds.extend([(first / 4) as u32, ((parts.len() - first) / 4) as u32]);
        if bounds.len() + parts.len() > most && bounds.len() > REGION {
            bounds.truncate(bounds.len() - REGION);
            parts.truncate(first);
            break;
        }
    }
    let count = bounds.len() / REGION;
    let first = bounds.len() as u32;
    bounds.append(&mut parts);
    (Packed { words: Cow::Owned(bounds), stride: REGION_U32_COUNT, parts: first, count }, Listed::Touch)
}

/// Packs the filters of queries from query `first` on: group, mask, body, the number of the world, and the box to
/// ignore. A world without boxes has a number beyond all worlds.
pub fn query_filters(filters: &QueryFilters, first: usize, count: usize, worlds: &HashMap<u32, u32>) -> Vec<u32> {
    let none = worlds.len() as u32 + 1;
    let words = |i: usize| {
        let QueryFilter { group, mask, body, world, ignore } = filters.query_filter(first + i);
        let number = match world {
            Filters::GLOBAL => u32::MAX,
            world => worlds.get(&world).copied().unwrap_or(none),
        };
        [group, mask, body, number, ignore]
    };
    (0..count).into_par_iter().with_min_len(1 << 10).flat_map_iter(words).collect()
}

/// Returns the count of half-spaces of a region.
pub fn half_space_count(region: &impl Region) -> usize {
    let mut count = 0;
    region.each_half_space(|_| count += 1);
    count
}
