//! The buffers of one [`BroadPhase`](crate::BroadPhase), allocated after a [`MemoryPlan`].

use crate::constants::*;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::readback::Readback;
use crate::memory::{MemoryPlan, staging_bytes, whole_quads};
use crate::stages::bin::Bins;
use crate::stages::layout::*;
use crate::stages::sort::Lists;
use crate::stages::sweep::{Hits, Path};
use crate::{Aabb, Error, Pair, PairOrder};

/// What lies on the GPU between the stages; shapes as in [`MemoryPlan`].
#[derive(Debug)]
pub(crate) struct Buffers {
    pub plan: MemoryPlan,
    pub bounds: Buffer<BoundsPartial>,
    pub moments: Buffer<Moments>,
    pub frame: Buffer<Frame>,
    pub counts: Buffer<Counts>,
    pub dispatches: Buffer<Dispatches>,
    pub bins: Bins,
    pub giants: Buffer<u32>,
    /// Keys, and as values the entries.
    pub entries: Lists,
    pub path: Path,
    pub hits: Hits,
    pub list: PairList,
    /// A frame in flight has one of these to itself. The first is in the plan, others are made when they are needed.
    pub boxes: Vec<Buffer<Aabb>>,
    /// So too with these.
    pub stagings: Vec<Staging>,
}

/// A list of pairs on the GPU and what goes with it.
#[derive(Debug)]
pub(crate) struct PairList {
    pub pairs: Buffer<Pair>,
    pub header: Buffer<PairHeader>,
    /// For canonical order.
    pub sort_lists: Option<Lists>,
}

/// A buffer that the host reads: `Counts` and `Frame`, then pairs; or only pairs. A clone is the same buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Staging {
    pub buffer: wgpu::Buffer,
    /// Pairs that fit behind the summary.
    pub capacity: u32,
}

impl Staging {
    pub fn new(gpu: &Gpu, capacity: u32) -> Result<Self, Error> {
        Ok(Self { buffer: Readback::staging(gpu, "staging", staging_bytes(capacity))?, capacity })
    }
}

impl Buffers {
    pub fn new(gpu: &Gpu, plan: MemoryPlan, order: PairOrder) -> Result<Self, Error> {
        use wgpu::BufferUsages as U;
        let boxes = u64::from(plan.box_count);
        let bin_blocks = boxes.div_ceil(u64::from(BIN_BLOCK));
        let entries = u64::from(plan.entry_capacity);
        let path_blocks = entries.div_ceil(u64::from(PATH_BLOCK));
        let hit_blocks = 2 * u64::from(HIT_BLOCKS);
        Ok(Self {
            bounds: Buffer::storage(gpu, "bounds", u64::from(PCA_GROUPS))?,
            moments: Buffer::storage(gpu, "moments", u64::from(PCA_GROUPS))?,
            frame: Buffer::new(gpu, "frame", 1, U::STORAGE | U::UNIFORM | U::COPY_DST | U::COPY_SRC)?,
            counts: Buffer::new(gpu, "counts", 1, U::STORAGE | U::UNIFORM | U::COPY_DST | U::COPY_SRC)?,
            dispatches: Buffer::new(gpu, "dispatches", 1, U::STORAGE | U::INDIRECT | U::COPY_DST | U::COPY_SRC)?,
            bins: Bins {
                cells: Buffer::storage(gpu, "cells", boxes)?,
                positions: Buffer::storage(gpu, "positions", boxes)?,
                block_counts: Buffer::storage(gpu, "block_counts", bin_blocks * u64::from(BIN_COUNTS))?,
                block_offsets: Buffer::storage(gpu, "bin_offsets", bin_blocks)?,
            },
            giants: Buffer::storage(gpu, "giants", boxes)?,
            entries: Lists::new(gpu, ["keys", "entries", "other_keys", "other_entries", "histograms"], entries)?,
            path: Path {
                steps: Buffer::storage(gpu, "steps", entries)?,
                extents: Buffer::storage(gpu, "extents", whole_quads(entries))?,
                sums: Buffer::storage(gpu, "path_sums", path_blocks)?,
                bases: Buffer::storage(gpu, "path_bases", path_blocks + 1)?,
            },
            hits: Hits {
                runs: Buffer::storage(gpu, "runs", u64::from(plan.tile_capacity) * 256)?,
                run_offsets: Buffer::storage(gpu, "run_offsets", u64::from(plan.tile_capacity) * 256)?,
                words: Buffer::storage(gpu, "hit_words", u64::from(plan.giant_tile_capacity) * 256)?,
                block_hits: Buffer::storage(gpu, "block_hits", hit_blocks)?,
                block_offsets: Buffer::storage(gpu, "hit_offsets", hit_blocks + 1)?,
            },
            list: PairList::new(gpu, plan.pair_capacity, order)?,
            boxes: vec![Buffer::storage(gpu, "boxes", boxes)?],
            stagings: vec![Staging::new(gpu, plan.pair_capacity)?],
            plan,
        })
    }

    /// The buffer of boxes that is in the plan.
    pub fn own_boxes(&self) -> Result<&Buffer<Aabb>, Error> {
        self.boxes.first().ok_or(Error::NothingSubmitted)
    }
}

impl PairList {
    pub fn new(gpu: &Gpu, capacity: u32, order: PairOrder) -> Result<Self, Error> {
        use wgpu::BufferUsages as U;
        let capacity = u64::from(capacity);
        let names = ["pair_keys", "pair_values", "other_pair_keys", "other_pair_values", "pair_histograms"];
        Ok(Self {
            pairs: Buffer::new(gpu, "pairs", capacity, U::STORAGE | U::VERTEX | U::COPY_SRC | U::COPY_DST)?,
            header: Buffer::new(gpu, "header", 1, U::STORAGE | U::INDIRECT | U::COPY_SRC | U::COPY_DST)?,
            sort_lists: match order {
                PairOrder::Sweep => None,
                PairOrder::Canonical => Some(Lists::new(gpu, names, capacity)?),
            },
        })
    }
}
