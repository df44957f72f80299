//! Searches scenes with more boxes than fit the device. The scene is cut into slabs, and each slab is searched
//! separately.

use std::borrow::Cow;

use super::core::Core;
use super::cuts::Slabs;
use super::flight::STREAMED_PIECE;
use crate::base::constants::AXIS_X;
use crate::filters::device::FilterSet;
use crate::memory::{Call, MemoryPlan};
use crate::{Aabb, Error, Pair, Report, SweepAxis};

/// A scene cut into slabs, with its prepared boxes.
#[derive(Debug)]
pub(super) struct CutScene<'a> {
    boxes: Cow<'a, [Aabb]>,
    slabs: Slabs,
    is_step: bool,
}

/// The passes of a search.
#[derive(Debug)]
pub(super) enum Passes<'a> {
    /// All boxes in one pass.
    One(Call),
    /// One pass per slab.
    Slabs(CutScene<'a>),
}

impl Core {
    /// Decides whether the boxes fit one pass, and otherwise cuts the scene into slabs. In a step, sleeping flags are
    /// ignored.
    pub(super) fn passes<'a>(
        &self,
        boxes: &'a [Aabb],
        filters: &FilterSet,
        is_step: bool,
    ) -> Result<Passes<'a>, Error> {
        let refused = match self.decide(boxes.len(), filters, is_step.into()) {
            Ok(call) => return Ok(Passes::One(call)),
            Err(refused) => refused,
        };
        // The index u32::MAX is reserved, as in the shaders.
        if boxes.len() as u64 >= u64::from(u32::MAX) {
            return Err(refused);
        }
        let mut boxes = Cow::Borrowed(boxes);
        if !filters.filters().leaves_boxes() {
            // Cut by padded boxes, since padding may reach into further slabs.
            filters.filters().prepare(boxes.to_mut());
        }
        let slabs = Slabs::new(&boxes, self.most_boxes(filters)).ok_or(refused)?;
        Ok(Passes::Slabs(CutScene { boxes, slabs, is_step }))
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

    /// Passes all pairs to `each`: the pairs of each slab, then the included pairs. No piece is empty. Each piece has
    /// the report of the slabs so far. `filters` are the filters of the whole scene; each slab uses its part of them.
    pub(super) fn search_slabs<E: From<Error>>(
        &mut self,
        scene: &CutScene<'_>,
        filters: &mut FilterSet,
        each: &mut impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        let &CutScene { ref boxes, ref slabs, is_step } = scene;
        // Each slab uploads its own filters.
        self.workspace.forget_results();
        filters.unload(&self.gpu)?;
        // Allocate the memory once for all slabs.
        let largest = slabs.counts.iter().max().copied().unwrap_or(0);
        self.ensure(&self.decide(largest as usize, filters, is_step.into())?, filters)?;
        let included = filters.checked().include();
        let slab_count = slabs.counts.len();
        let scene_report = SceneReport::new(scene);
        let mut whole: Option<Report> = None;
        let mut pair_count = 0;
        for slab in 0..slab_count {
            let (inside, origins) = slabs.boxes(slab, boxes)?;
            let indices: Vec<u32> = origins.iter().map(|origin| origin.index).collect();
            let mut part = FilterSet::new(&self.gpu, filters.checked().part(&indices))?;
            part.fit(inside.len())?;
            let mut retained = Vec::new();
            let call = self.decide(inside.len(), &part, is_step.into())?;
            self.submit_search(&inside, call, &mut part)?;
            let report = self.wait_for_pieces(&mut part, STREAMED_PIECE, |report, piece| {
                retained.clear();
                retained.extend(piece.iter().filter_map(|pair| {
                    let (a, b) = (origins[pair.a as usize], origins[pair.b as usize]);
                    (a.begins || b.begins).then_some(Pair { a: a.index, b: b.index })
                }));
                pair_count += retained.len() as u64;
                if retained.is_empty() {
                    return Ok(());
                }
                // With one slab, the pair count of the scene is known from the first piece on.
                let all_of_one = (slab_count == 1).then(|| report.pair_count + included.len() as u64);
                each(&scene_report.up_to(whole.as_ref(), report, all_of_one.unwrap_or(pair_count)), &retained)
            })?;
            whole = Some(scene_report.up_to(whole.as_ref(), &report, pair_count));
        }
        let mut whole = whole.ok_or(Error::NothingSubmitted)?;
        whole.pair_count += included.len() as u64;
        included.chunks(STREAMED_PIECE as usize).try_for_each(|piece| each(&whole, piece))?;
        Ok(whole)
    }
}

/// The fields of reports that are the same for all pieces of a scene.
struct SceneReport {
    box_count: u32,
    invalid_count: u32,
    first_invalid: Vec<u32>,
    /// The count of slabs, and the axis across them.
    passes: u32,
    axis: usize,
}

impl SceneReport {
    /// Derives the fields from the scene, and counts its invalid boxes.
    fn new(CutScene { boxes, slabs, .. }: &CutScene<'_>) -> Self {
        let box_count = boxes.len() as u32;
        let invalid = || (0..box_count).filter(|&index| !boxes[index as usize].is_valid());
        let first_invalid = invalid().take(Report::INVALID_LISTED).collect();
        let (passes, axis) = (slabs.counts.len() as u32, slabs.axis);
        Self { box_count, invalid_count: invalid().count() as u32, first_invalid, passes, axis }
    }

    /// Returns the report of all slabs up to this slab, from the report `before` and the report of this slab.
    fn up_to(&self, before: Option<&Report>, slab: &Report, pair_count: u64) -> Report {
        let mut report = before.unwrap_or(slab).clone();
        if before.is_some() {
            add(&mut report, slab);
        }
        report.first_invalid.clone_from(&self.first_invalid);
        report.passes = self.passes;
        if report.tested_all_pairs {
            // Boxes of different slabs were not tested against each other.
            report.tested_all_pairs = false;
            report.axis = SweepAxis::from_code(AXIS_X + self.axis as u32);
            report.direction = std::array::from_fn(|k| if k == self.axis { 1.0 } else { 0.0 });
        }
        Report { box_count: self.box_count, invalid_count: self.invalid_count, pair_count, ..report }
    }
}

/// Adds the counts of a further pass to the report of the whole.
fn add(whole: &mut Report, pass: &Report) {
    whole.giant_count = whole.giant_count.saturating_add(pass.giant_count);
    whole.entry_count = whole.entry_count.saturating_add(pass.entry_count);
    whole.candidate_count = whole.candidate_count.saturating_add(pass.candidate_count);
    whole.gpu_bytes = whole.gpu_bytes.max(pass.gpu_bytes);
}
