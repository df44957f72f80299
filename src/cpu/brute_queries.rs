//! Answers queries by a loop over all boxes, without a tree. Most tests compare trees with exact arithmetic in long
//! integers. Where this takes too long, they compare with these answers. Half-spaces are merged into the answers as in
//! a tree.
//!
//! # Errors
//! All functions return the errors of [`Filters::check`], [`Error::QueryFilterLength`], [`Error::BadFilter`] and
//! [`Error::OutOfMemory`].

use std::cmp::Ordering;

use crate::filters::CheckedFilters;
use crate::queries::{Distance, HalfSpaces, Region};
use crate::{Aabb, Batch, Cast, Error, Filters, Hit, Lists, Near, NearestQuery, QueryReport, Report, Shape};

/// Finds the first `most` boxes that each path hits, by `t` and then by index.
pub fn first_hits<C: Cast>(
    batch: Batch<'_, C>,
    boxes: &[Aabb],
    filters: &Filters,
    most: usize,
) -> Result<Lists<Hit>, Error> {
    let (filters, prepared) = checked(batch, boxes, filters)?;
    let mut lists = lists(batch, |i, cast| {
        let path = cast.path()?.skipping_separating(batch.filters.skips_separating);
        let entries = met(batch, &prepared, &filters, i).filter_map(|(id, aabb)| Some((path.enter(&aabb)?, id)));
        let compare = |a: &(_, u32), b: &(_, u32)| path.compare_entries(&a.0, &b.0).then(a.1.cmp(&b.1));
        Some(first(entries, most, compare, |(entry, index)| Hit { index: *index, t: path.time(entry) }))
    });
    HalfSpaces::new(&filters, &prepared).first_hits(batch, most, &mut lists)?;
    Ok(lists)
}

/// Finds all boxes that each path hits, ascending by index.
pub fn all_hits<C: Cast>(batch: Batch<'_, C>, boxes: &[Aabb], filters: &Filters) -> Result<Lists<Hit>, Error> {
    let (filters, prepared) = checked(batch, boxes, filters)?;
    let mut lists = lists(batch, |i, cast| {
        let path = cast.path()?.skipping_separating(batch.filters.skips_separating);
        let hit = |(index, aabb): (u32, Aabb)| Some(Hit { index, t: path.time(&path.enter(&aabb)?) });
        Some(met(batch, &prepared, &filters, i).filter_map(hit).collect())
    });
    HalfSpaces::new(&filters, &prepared).all_hits(batch, &mut lists)?;
    Ok(lists)
}

/// Finds all boxes that touch each shape, ascending by index.
pub fn overlaps<S: Shape>(batch: Batch<'_, S>, boxes: &[Aabb], filters: &Filters) -> Result<Lists<u32>, Error> {
    let (filters, prepared) = checked(batch, boxes, filters)?;
    let mut lists = lists(batch, |i, shape| {
        let region = shape.region()?;
        let touches = |(_, aabb): &(u32, Aabb)| region.bounds().overlaps(aabb) && region.touches(aabb);
        Some(met(batch, &prepared, &filters, i).filter(touches).map(|(id, _)| id).collect())
    });
    HalfSpaces::new(&filters, &prepared).overlaps(batch, &mut lists)?;
    Ok(lists)
}

/// Finds the `most` boxes that are nearest to each point, by distance and then by index.
pub fn nearest(
    batch: Batch<'_, NearestQuery>,
    boxes: &[Aabb],
    filters: &Filters,
    most: usize,
) -> Result<Lists<Near>, Error> {
    let (filters, prepared) = checked(batch, boxes, filters)?;
    let mut lists = lists(batch, |i, query| {
        let point = query.is_valid().then_some(&query.point)?;
        let distances = met(batch, &prepared, &filters, i).filter_map(|(id, aabb)| {
            let distance = Distance::between(point, &aabb)?;
            distance.compare_radius(query.radius, point).is_le().then_some((distance, id))
        });
        let compare = |a: &(Distance, u32), b: &(Distance, u32)| a.0.compare(&b.0, point).then(a.1.cmp(&b.1));
        let near =
            |(distance, index): &(Distance, u32)| Near { index: *index, squared_distance: distance.square(point) };
        Some(first(distances, most, compare, near))
    });
    HalfSpaces::new(&filters, &prepared).nearest(batch, most, &mut lists)?;
    Ok(lists)
}

/// Checks the filters of boxes and queries, and returns them with the boxes padded by their margins.
fn checked<Q>(batch: Batch<'_, Q>, boxes: &[Aabb], filters: &Filters) -> Result<(CheckedFilters, Vec<Aabb>), Error> {
    batch.filters.check(batch.queries.len())?;
    let mut checked = CheckedFilters::new(filters.clone())?;
    checked.fit(boxes.len())?;
    let mut prepared = boxes.to_vec();
    filters.pad(0, &mut prepared);
    Ok((checked, prepared))
}

/// Returns the boxes that the filters of query `i` accept, except boxes that stand for half-spaces.
fn met<'a, Q>(
    batch: Batch<'a, Q>,
    prepared: &'a [Aabb],
    filters: &'a CheckedFilters,
    i: usize,
) -> impl Iterator<Item = (u32, Aabb)> + use<'a, Q> {
    let meeting = batch.filters.meeting_of(i, filters);
    let is_met = move |id: u32| filters.half_space(id).is_none() && meeting.meets(id);
    (0..).zip(prepared).filter(move |(id, _)| is_met(*id)).map(|(id, aabb)| (id, *aabb))
}

fn first<T, U>(
    all: impl Iterator<Item = T>,
    most: usize,
    compare: impl Fn(&T, &T) -> Ordering,
    answer: impl Fn(&T) -> U,
) -> Vec<U> {
    let mut all: Vec<T> = all.collect();
    if most < all.len() {
        all.select_nth_unstable_by(most, &compare);
        all.truncate(most);
    }
    all.sort_unstable_by(compare);
    all.iter().map(answer).collect()
}

fn lists<Q, T: Clone>(batch: Batch<'_, Q>, answer: impl Fn(usize, &Q) -> Option<Vec<T>>) -> Lists<T> {
    let mut lists = Lists { offsets: vec![0], answers: Vec::new(), report: QueryReport::default() };
    for (i, query) in batch.queries.iter().enumerate() {
        match answer(i, query) {
            Some(answers) => lists.answers.extend_from_slice(&answers),
            None => {
                lists.report.invalid_count += 1;
                if lists.report.first_invalid.len() < Report::INVALID_LISTED {
                    lists.report.first_invalid.push(i as u64);
                }
            }
        }
        lists.offsets.push(lists.answers.len() as u64);
    }
    lists.report.query_count = batch.queries.len() as u64;
    lists.report.answer_count = lists.answers.len() as u64;
    lists
}
