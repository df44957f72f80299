//! More boxes than the device holds at once: the scene is cut into slabs, and each is searched by itself.

use std::borrow::Cow;

use super::core::Core;
use super::cuts::Slabs;
use super::find::STREAMED_PIECE;
use crate::constants::AXIS_X;
use crate::filters::device::FilterSet;
use crate::memory::{Call, MemoryPlan};
use crate::{Aabb, Error, Pair, Report, SweepAxis};

/// A scene that is cut: its boxes as they are searched, and its slabs.
#[derive(Debug)]
pub(super) struct CutScene<'a> {
    boxes: Cow<'a, [Aabb]>,
    slabs: Slabs,
}

/// How often boxes are searched.
#[derive(Debug)]
pub(super) enum Passes<'a> {
    /// Once.
    One(Call),
    /// Slab by slab.
    Slabs(CutScene<'a>),
}

/// A box of a slab.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// In the input.
    index: u32,
    /// Whether its lower bound is in the slab.
    begins: bool,
}

impl Slabs {
    /// Slabs of at most `most` boxes, along the axis where the fewest boxes are in several; `None` where no axis can
    /// be cut so.
    fn new(boxes: &[Aabb], most: u64) -> Option<Self> {
        (0..3).filter_map(|axis| Self::along(axis, boxes, most)).min_by_key(Self::copies)
    }

    /// Cuts what is too full at quantiles of the lower bounds there, until nothing is. Each cut has lower bounds on
    /// both sides, so this ends.
    fn along(axis: usize, boxes: &[Aabb], most: u64) -> Option<Self> {
        if most == 0 {
            return None;
        }
        let mut slabs = Self { axis, cuts: Vec::new(), counts: Vec::new() };
        loop {
            slabs.count(boxes);
            if slabs.counts.iter().all(|&count| count <= most) {
                return Some(slabs);
            }
            if slabs.copies() > MOST_COPIES * boxes.len() as u64 {
                return None;
            }
            let mut starts = vec![Vec::new(); slabs.counts.len()];
            for aabb in boxes.iter().filter(|aabb| aabb.is_valid()) {
                let slab = slabs.at(aabb.min[axis]);
                if slabs.counts[slab] > most {
                    starts[slab].push(aabb.min[axis]);
                }
            }
            let full = starts.into_iter().zip(&slabs.counts).filter(|&(_, &count)| count > most);
            let new = full.map(|(starts, count)| {
                // A sixteenth more parts than would do if no box were in several.
                let parts = (count + count / 16) / most + 1;
                cuts_between(starts, parts as usize)
            });
            let new: Vec<f32> = new.collect::<Option<Vec<_>>>()?.concat();
            slabs.cuts.extend(new);
            slabs.cuts.sort_unstable_by(f32::total_cmp);
        }
    }

    /// The slab of a coordinate.
    fn at(&self, coordinate: f32) -> usize {
        self.cuts.partition_point(|&cut| cut <= coordinate)
    }

    /// The slabs that a valid box is in.
    fn of(&self, aabb: &Aabb) -> RangeInclusive<usize> {
        self.at(aabb.min[self.axis])..=self.at(aabb.max[self.axis])
    }

    fn count(&mut self, boxes: &[Aabb]) {
        // Where boxes come in and, one slab after, where they end.
        let mut begun = vec![0u64; self.cuts.len() + 1];
        let mut ended = vec![0u64; self.cuts.len() + 2];
        for aabb in boxes.iter().filter(|aabb| aabb.is_valid()) {
            let slabs = self.of(aabb);
            begun[*slabs.start()] += 1;
            ended[*slabs.end() + 1] += 1;
        }
        let mut inside = 0;
        let counts = begun.iter().zip(&ended).map(|(begun, ended)| {
            inside = inside + begun - ended;
            inside
        });
        self.counts = counts.collect();
    }

    /// Boxes in all slabs together.
    fn copies(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The boxes of one slab in the order of the input, and where they come from.
    fn boxes(&self, slab: usize, boxes: &[Aabb]) -> Result<(Vec<Aabb>, Vec<Origin>), Error> {
        let count = self.counts[slab] as usize;
        let (mut inside, mut origins) = (Vec::new(), Vec::new());
        let bytes = (count * (size_of::<Aabb>() + size_of::<Origin>())) as u64;
        inside
            .try_reserve_exact(count)
            .and_then(|()| origins.try_reserve_exact(count))
            .map_err(|_| Error::OutOfMemory { buffer: "a slab's boxes on the host".to_owned(), bytes })?;
        for (index, aabb) in boxes.iter().enumerate().filter(|(_, aabb)| aabb.is_valid()) {
            let slabs = self.of(aabb);
            if slabs.contains(&slab) {
                inside.push(*aabb);
                origins.push(Origin { index: index as u32, begins: *slabs.start() == slab });
            }
        }
        Ok((inside, origins))
    }
}

/// Coordinates that cut these lower bounds into about as many parts, with some on both sides of each; `None` where
/// all are the same.
fn cuts_between(mut starts: Vec<f32>, parts: usize) -> Option<Vec<f32>> {
    starts.sort_unstable_by(f32::total_cmp);
    let first = *starts.first()?;
    let quantile = |part: usize| starts[(starts.len() as u128 * part as u128 / parts as u128) as usize];
    let mut cuts: Vec<f32> = (1..parts).map(quantile).filter(|&cut| cut > first).collect();
    // As numbers, since -0 is 0.
    cuts.dedup();
    if cuts.is_empty() {
        cuts.push(*starts.get(starts.partition_point(|&start| start <= first))?);
    }
    Some(cuts)
}

impl Core {
    /// Decides whether one pass has room for the boxes, and cuts those that it has no room for.
    pub(super) fn passes<'a>(&self, boxes: &'a [Aabb], filters: &FilterSet) -> Result<Passes<'a>, Error> {
        let refused = match self.decide(boxes.len(), filters) {
            Ok(call) => return Ok(Passes::One(call)),
            Err(refused) => refused,
        };
        // The index u32::MAX stays free, as in the shaders.
        if boxes.len() as u64 >= u64::from(u32::MAX) {
            return Err(refused);
        }
        let mut boxes = Cow::Borrowed(boxes);
        if !filters.filters().leaves_boxes() {
            // Grown boxes may reach into further slabs.
            filters.filters().prepare(boxes.to_mut());
        }
        let slabs = Slabs::new(&boxes, self.most_boxes(filters)).ok_or(refused)?;
        Ok(Passes::Slabs(CutScene { boxes, slabs }))
    }

    /// Returns the most boxes that limits and budget allow in one pass.
    fn most_boxes(&self, filters: &FilterSet) -> u64 {
        let fits = |boxes: u64| {
            let rows = filters.slab_rows(boxes as usize);
            MemoryPlan::with_filters(boxes as usize, &self.options, self.workspace.limits(), rows).is_ok()
        };
        let (mut most, mut too_many) = (0, 1 << 32);
        while too_many - most > 1 {
            let middle = (most + too_many) / 2;
            *(if fits(middle) { &mut most } else { &mut too_many }) = middle;
        }
        most
    }

    /// Streams the pairs slab by slab, twice: the first time only counts the pairs.
    pub(super) fn stream_slabs<E: From<Error>>(
        &mut self,
        scene: &CutScene<'_>,
        filters: &mut FilterSet,
        mut each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        let report = self.search_slabs(scene, filters, &mut |_| Ok::<_, Error>(()))?;
        if report.pair_count == 0 {
            each(&report, &[])?;
            return Ok(report);
        }
        self.search_slabs(scene, filters, &mut |piece| each(&report, piece))?;
        Ok(report)
    }

    /// Hands every pair to `each`, slab by slab and then the included pairs, in pieces that are not empty. `filters`
    /// are the filters of the whole scene; each slab is searched with its part of them.
    pub(super) fn search_slabs<E: From<Error>>(
        &mut self,
        scene: &CutScene<'_>,
        filters: &mut FilterSet,
        each: &mut impl FnMut(&[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        let CutScene { boxes, slabs } = scene;
        // Each slab uploads filters of its own.
        filters.unload(&self.gpu)?;
        // The memory is allocated once for all slabs.
        let largest = slabs.counts.iter().max().copied().unwrap_or(0);
        self.ensure(&self.decide(largest as usize, filters)?, filters)?;
        let mut whole: Option<Report> = None;
        let mut pair_count = 0;
        for slab in 0..slabs.counts.len() {
            let (inside, origins) = slabs.boxes(slab, boxes)?;
            let indices: Vec<u32> = origins.iter().map(|origin| origin.index).collect();
            let mut part = FilterSet::new(&self.gpu, filters.checked().part(&indices))?;
            part.fit(inside.len())?;
            let mut kept = Vec::new();
            let call = self.decide(inside.len(), &part)?;
            self.submit(&inside, call, &mut part)?;
            let report = self.wait_for_pieces(&mut part, STREAMED_PIECE, |_, piece| {
                kept.clear();
                kept.extend(piece.iter().filter_map(|pair| {
                    let (a, b) = (origins[pair.a as usize], origins[pair.b as usize]);
                    (a.begins || b.begins).then_some(Pair { a: a.index, b: b.index })
                }));
                pair_count += kept.len() as u64;
                if kept.is_empty() { Ok(()) } else { each(&kept) }
            })?;
            match &mut whole {
                Some(whole) => add(whole, &report),
                None => whole = Some(report),
            }
        }
        let included = filters.checked().include();
        pair_count += included.len() as u64;
        included.chunks(STREAMED_PIECE as usize).try_for_each(each)?;
        let mut whole = whole.ok_or(Error::NothingSubmitted)?;
        let invalid = || (0..boxes.len() as u32).filter(|&index| !boxes[index as usize].is_valid());
        whole.box_count = boxes.len() as u32;
        whole.invalid_count = invalid().count() as u32;
        whole.first_invalid = invalid().take(Report::INVALID_LISTED).collect();
        whole.pair_count = pair_count;
        if whole.tested_all_pairs() {
            // Only boxes of one slab were tested against each other: the slabs are the only grid that there was.
            whole.axis = SweepAxis::from_code(AXIS_X + slabs.axis as u32);
            whole.direction = std::array::from_fn(|k| if k == slabs.axis { 1.0 } else { 0.0 });
        }
        Ok(whole)
    }
}

/// Adds what another pass counted.
fn add(whole: &mut Report, pass: &Report) {
    whole.passes += pass.passes;
    whole.giant_count = whole.giant_count.saturating_add(pass.giant_count);
    whole.entry_count = whole.entry_count.saturating_add(pass.entry_count);
    whole.candidate_count = whole.candidate_count.saturating_add(pass.candidate_count);
    whole.gpu_bytes = whole.gpu_bytes.max(pass.gpu_bytes);
}
