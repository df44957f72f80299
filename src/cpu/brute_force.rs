//! Finds pairs and answers queries by plain loops over all boxes. Use it to check an engine, a tree, or your own
//! method. The loops define the results: engines and trees return the same bits.
//!
//! All functions run on one thread and use no tree. Cost: `n (n - 1) / 2` tests for pairs, and queries times boxes for
//! queries. This takes a few seconds for 50,000 boxes, or for a thousand queries of a million boxes.
//!
//! # Errors
//! [`Error::FilterLength`] and [`Error::BadFilter`] if the filters do not fit the boxes; [`Error::BadFilter`] also if
//! the filters of a query call have an owner region; [`Error::QueryFilterLength`] if the query filters of a batch do
//! not fit its queries; [`Error::ListTooLong`] and [`Error::OutOfMemory`] if there is no memory for the result.
//!
//! ```
//! use broadsweep::cpu::brute_force;
//! use broadsweep::{Aabb, Filters, Options, cpu};
//!
//! # fn main() -> Result<(), broadsweep::Error> {
//! let boxes: Vec<Aabb> = (0..100).map(|i| Aabb::new([i as f32; 3], [i as f32 + 1.5; 3])).collect();
//! let mut pairs = cpu::find_pairs(&boxes, &Options::default())?.pairs;
//! pairs.sort_unstable();
//! assert_eq!(pairs, brute_force::find_pairs(&boxes, &Filters::default())?);
//! # Ok(())
//! # }
//! ```

use super::{brute_pairs, brute_queries};
use crate::{Aabb, Batch, Cast, Error, Filters, Hit, Lists, Near, NearestQuery, Pair, Shape};

/// Finds every overlapping pair that `filters` accept, ascending by `a`, then by `b`.
///
/// # Errors
/// The errors of the [module](self).
///
/// ```
/// use broadsweep::cpu::brute_force;
/// use broadsweep::{Aabb, Filters, Pair};
///
/// let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 3];
/// let filters = Filters::default().with_body(vec![7, 7, 8]);
/// assert_eq!(brute_force::find_pairs(&boxes, &filters)?, [Pair { a: 0, b: 2 }, Pair { a: 1, b: 2 }]);
/// # Ok::<(), broadsweep::Error>(())
/// ```
pub fn find_pairs(boxes: &[Aabb], filters: &Filters) -> Result<Vec<Pair>, Error> {
    filters.check(boxes.len())?;
    if filters.is_empty() {
        brute_pairs::try_find_pairs(boxes)
    } else {
        brute_pairs::try_find_filtered_pairs(boxes, filters)
    }
}

/// Finds the first `k` boxes that each path hits: by `t`, then by index.
///
/// # Errors
/// The errors of the [module](self).
///
/// ```
/// use broadsweep::cpu::brute_force;
/// use broadsweep::{Aabb, Filters, Ray};
///
/// let boxes = [Aabb::new([4.0; 3], [5.0; 3]), Aabb::new([1.0; 3], [2.0; 3])];
/// let hits = brute_force::first_hits(&[Ray::new([0.0; 3], [1.0; 3])], &boxes, &Filters::default(), 1)?;
/// assert_eq!((hits[0][0].index, hits[0][0].t), (1, 1.0));
/// # Ok::<(), broadsweep::Error>(())
/// ```
pub fn first_hits<'a, C: Cast + 'a>(
    casts: impl Into<Batch<'a, C>>,
    boxes: &[Aabb],
    filters: &Filters,
    k: usize,
) -> Result<Lists<Hit>, Error> {
    filters.check_for_queries()?;
    brute_queries::first_hits(casts.into(), boxes, filters, k)
}

/// Finds all boxes that each path hits, ascending by index.
///
/// # Errors
/// The errors of the [module](self).
///
/// ```
/// use broadsweep::cpu::brute_force;
/// use broadsweep::{Aabb, Filters, Ray};
///
/// let boxes = [Aabb::new([4.0; 3], [5.0; 3]), Aabb::new([1.0; 3], [2.0; 3])];
/// let hits = brute_force::all_hits(&[Ray::new([0.0; 3], [1.0; 3])], &boxes, &Filters::default())?;
/// assert_eq!((hits[0][0].t, hits[0][1].t), (4.0, 1.0));
/// # Ok::<(), broadsweep::Error>(())
/// ```
pub fn all_hits<'a, C: Cast + 'a>(
    casts: impl Into<Batch<'a, C>>,
    boxes: &[Aabb],
    filters: &Filters,
) -> Result<Lists<Hit>, Error> {
    filters.check_for_queries()?;
    brute_queries::all_hits(casts.into(), boxes, filters)
}

/// Finds all boxes that each shape touches, ascending by index.
///
/// # Errors
/// The errors of the [module](self).
///
/// ```
/// use broadsweep::cpu::brute_force;
/// use broadsweep::{Aabb, Filters};
///
/// let boxes = [Aabb::new([4.0; 3], [5.0; 3]), Aabb::new([1.0; 3], [4.0; 3])];
/// assert_eq!(brute_force::overlaps(&[[4.0; 3], [2.0; 3]], &boxes, &Filters::default())?[0], [0, 1]);
/// # Ok::<(), broadsweep::Error>(())
/// ```
pub fn overlaps<'a, S: Shape + 'a>(
    shapes: impl Into<Batch<'a, S>>,
    boxes: &[Aabb],
    filters: &Filters,
) -> Result<Lists<u32>, Error> {
    filters.check_for_queries()?;
    brute_queries::overlaps(shapes.into(), boxes, filters)
}

/// Finds the `k` boxes that are nearest to each point: by distance, then by index.
///
/// # Errors
/// The errors of the [module](self).
///
/// ```
/// use broadsweep::cpu::brute_force;
/// use broadsweep::query::NearestQuery;
/// use broadsweep::{Aabb, Filters};
///
/// let boxes = [Aabb::new([4.0; 3], [5.0; 3]), Aabb::new([1.0; 3], [2.0; 3])];
/// let near = brute_force::nearest(&[NearestQuery::new([0.0; 3])], &boxes, &Filters::default(), 1)?;
/// assert_eq!((near[0][0].index, near[0][0].squared_distance), (1, 3.0));
/// # Ok::<(), broadsweep::Error>(())
/// ```
pub fn nearest<'a>(
    points: impl Into<Batch<'a, NearestQuery>>,
    boxes: &[Aabb],
    filters: &Filters,
    k: usize,
) -> Result<Lists<Near>, Error> {
    filters.check_for_queries()?;
    brute_queries::nearest(points.into(), boxes, filters, k)
}
