//! Kernels alone, on the numbers of the tests of stages, which no search of few boxes has.

use broadsweep::internals::constants::*;
use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::{Kernel, Pass};
use broadsweep::internals::kernels;
use broadsweep::internals::layout::{
    BoundsPartial, Counts, Dispatches, Frame, PairArguments, PairHeader, Params, Run, SortPass, StepParams, Window,
    packed_cells,
};
use broadsweep::record::QueryHeader;
use broadsweep::{Aabb, Gpu};
use bytemuck::{Pod, Zeroable};
use interpreter::{Compared, Mutation};
use laboratory::scenes::Kind;

use crate::cases::random;
use crate::searches::device;

/// Runs mutants beside their kernels, and returns the observations of each.
pub fn compared(mutants: Vec<(String, Mutation)>) -> Vec<Compared> {
    let (interpreter, gpu) = device(8, None);
    interpreter.compare(mutants);
    let runs = Runs { gpu };
    runs.divisions();
    runs.lists();
    runs.ranges();
    runs.windows();
    runs.included();
    runs.levels();
    runs.histograms();
    runs.statistics();
    runs.steps();
    interpreter.compared()
}

/// Puts the pairs of blocks behind their sums.
fn block_words(hits: &[u32]) -> Vec<u32> {
    let mut words = vec![0; 2 * HIT_SUMS as usize];
    for (sum, blocks) in words.chunks_mut(2).zip(hits.chunks(SUM_BLOCKS as usize)) {
        let part = |shift: u32, mask: u32| blocks.iter().map(|own| own >> shift & mask).sum();
        sum.copy_from_slice(&[part(0, 0xffff), part(16, u32::MAX)]);
    }
    words.extend(hits);
    words
}

/// Runs of kernels.
struct Runs {
    gpu: Gpu,
}

impl Runs {
    /// Creates a buffer.
    fn buffer<T: Pod>(&self, values: &[T]) -> Buffer<T> {
        let buffer = Buffer::storage(&self.gpu, "alone", values.len() as u64).expect("memory");
        buffer.write(&self.gpu, values);
        buffer
    }

    /// Creates an unwritten buffer.
    fn output<T: Pod>(&self, len: usize) -> Buffer<T> {
        Buffer::storage(&self.gpu, "alone", len as u64).expect("memory")
    }

    fn dispatch(&self, label: &str, groups: u32, buffers: &[(&str, wgpu::BindingResource)]) {
        self.dispatch_as(label, &[], groups, buffers);
    }

    fn dispatch_as(
        &self,
        label: &str,
        switches: &[&'static str],
        groups: u32,
        buffers: &[(&str, wgpu::BindingResource)],
    ) {
        let source = kernels::sources().find(|source| source.label == label).expect("a kernel of this name");
        let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = Pass::begin(&self.gpu, &mut encoder);
        Kernel::specialised(&self.gpu, source, switches).dispatch(&mut pass, groups, buffers);
        pass.finish().expect("a kernel that compiles");
        drop(pass);
        self.gpu.queue().submit([encoder.finish()]);
    }

    /// events_list: more groups of tiles than one, and lists that do not count.
    fn steps(&self) {
        for (tiles, clash, overflow) in [(1, 0, 0), (65, 0, 0), (130, 0, 0), (65, 1, 0), (65, 0, 1)] {
            // All pairs are created and all pairs of a list of the same length are lost; or one pair persists.
            let capacity = tiles * EVENT_TILE;
            let written = capacity - 5;
            let words = capacity / 32;
            let mut marks = vec![0; EVENT_TOTALS as usize];
            marks.extend((0..words).map(|_| 0));
            marks.extend((0..words).map(|word| u32::MAX >> (32 - (written - 32 * word).min(32))));
            marks.extend((0..words).map(|_| 0));
            let counts = |tile: u32| [EVENT_TILE.min(written - tile * EVENT_TILE), 0, 0];
            marks.extend((0..tiles).flat_map(counts));
            for group in 0..tiles.div_ceil(EVENT_GROUP) {
                let of_group = (group * EVENT_GROUP..tiles.min((group + 1) * EVENT_GROUP)).map(counts);
                marks.extend([of_group.map(|counts| counts[0]).sum(), 0, clash]);
            }
            let step_params = self.buffer(&[StepParams { capacity, ..StepParams::zeroed() }]);
            let header = self.buffer(&[QueryHeader { overflow, written, ..QueryHeader::zeroed() }]);
            let pairs: Vec<[u32; 2]> = (0..capacity).map(|i| [i, i + 1]).collect();
            let (list, last_list, event_marks) = (self.buffer(&pairs), self.buffer(&pairs), self.buffer(&marks));
            let last_step = self.buffer(&[written, 0]);
            let out = [(); 3].map(|()| self.output::<[u32; 2]>(capacity as usize));
            let buffers = [
                ("step_params", step_params.all()),
                ("header", header.all()),
                ("last_step", last_step.all()),
                ("pairs", list.all()),
                ("last_pairs", last_list.all()),
                ("event_marks", event_marks.all()),
                ("created", out[0].all()),
                ("persisting", out[1].all()),
                ("lost", out[2].all()),
            ];
            self.dispatch("events_list", tiles, &buffers);
        }
    }

    /// giants_test: paths and tests of giants of more than 32 bits, and exactly the count of tiles at the limit of
    /// workgroups.
    fn divisions(&self) {
        let mut bits = random();
        let sums = |blocks: u32, most: u64, bits: &mut dyn FnMut() -> u64| -> Vec<[u32; 2]> {
            (0..blocks).map(|_| [(bits() % most) as u32 + 128, (bits() % (3 * most)) as u32]).collect()
        };
        let mut runs: Vec<(Params, u32, Vec<[u32; 2]>)> = Vec::new();
        let params = |box_count, limit: u64, tile_capacity| Params {
            box_count,
            candidate_limit_low: limit as u32,
            candidate_limit_high: (limit >> 32) as u32,
            tile_capacity,
            ..Params::zeroed()
        };
        for tiles in [1, 2047, 2048, 16_384, 65_535, 65_536, 131_070, 131_071, 1 << 20] {
            for length in [tiles * TILE_QUADS, (tiles - 1) * TILE_QUADS + 1] {
                let half = length / 2;
                runs.push((params(1, 1 << 44, 1 << 20), 0, vec![[half, u32::MAX], [length - half, 0]]));
            }
        }
        runs.push((params(1 << 24, 1 << 48, u32::MAX / 256), 3, sums(3000, 1 << 30, &mut bits)));
        runs.push((params(1 << 24, 1 << 40, u32::MAX / 256), 3, vec![[1 << 30, u32::MAX]; 3000]));
        runs.push((params(1234, 1 << 44, 3), 77, sums(600, 10_000, &mut bits)));
        runs.push((params((1 << 22) + 1, 1 << 44, 16), 1 << 22, Vec::new()));
        runs.push((params(1 << 22, 1 << 44, 16), 1 << 22, Vec::new()));
        runs.push((params(8193 * 7, 1 << 44, 16), 65_535, Vec::new()));
        for giants in [0, 5] {
            let candidates = 4 * u64::from(u32::MAX) + 300 * u64::from(giants);
            for limit in [candidates, candidates - 1] {
                runs.push((params(300, limit, 16), giants, vec![[u32::MAX / 4 + 200, u32::MAX]; 4]));
            }
        }
        for (params, giant_count, sums) in runs {
            let entry_count = sums.len() as u32 * PATH_SECTION * PATH_GROUP;
            let counts = Counts { entry_count, giant_count, ..Counts::zeroed() };
            let (params, counts) = (self.buffer(&[params]), self.buffer(&[counts]));
            let words: Vec<u32> = sums.iter().flat_map(|own| own.iter().flat_map(|n| [n & 0xffff, n >> 16])).collect();
            let bases = self.buffer(&words);
            let dispatches = self.output::<Dispatches>(1);
            let none = self.buffer(&[0u32; 8]);
            let buffers = [
                ("params", params.all()),
                ("counts", counts.all()),
                ("path_bases", bases.all()),
                ("dispatches", dispatches.all()),
                ("boxes", none.all()),
                ("entries", none.all()),
                ("block_hits", none.all()),
            ];
            self.dispatch("giants_test", 1, &buffers);
        }
    }

    /// emit_sweep: more blocks than invocations, lists of more than 32 bits, and windows around their end.
    fn lists(&self) {
        let mut bits = random();
        for (blocks, most) in [(0, 1), (1, 100), (255, 8192), (257, 8192), (1234, 8192), (3000, 1 << 32)] {
            let hits: Vec<u32> = (0..blocks).map(|_| (bits() % most) as u32).collect();
            let total: u64 = hits.iter().map(|&hits| u64::from(hits)).sum();
            let firsts =
                [0, 1, total / 2, u64::from(u32::MAX), 1 << 32, total.saturating_sub(1 << 32), total, total + 1];
            for (first, capacity) in
                firsts.into_iter().flat_map(|first| [1, 1000, 1 << 24, u32::MAX].map(|n| (first, n)))
            {
                for refused in [0, 1] {
                    let sweep_blocks = blocks / 3;
                    let params = Params { vertices_per_pair: 24, include_count: first as u32 % 5, ..Params::zeroed() };
                    let counts =
                        Counts { sweep_blocks, giant_blocks: blocks - sweep_blocks, refused, ..Counts::zeroed() };
                    self.list(params, counts, first, capacity, &hits);
                }
            }
        }
    }

    fn list(&self, params: Params, counts: Counts, first: u64, capacity: u32, hits: &[u32]) {
        let window = Window { first_low: first as u32, first_high: (first >> 32) as u32, capacity, unused: 0 };
        let (params, window, counts) = (self.buffer(&[params]), self.buffer(&[window]), self.buffer(&[counts]));
        let hits = self.buffer(&block_words(hits));
        let (header, arguments) = (self.output::<PairHeader>(1), self.output::<PairArguments>(1));
        let (none, list) = (self.buffer(&[0u32; 768]), self.output::<[u32; 2]>(1));
        let buffers = [
            ("params", params.all()),
            ("window", window.all()),
            ("block_hits", hits.all()),
            ("counts", counts.all()),
            ("header", header.all()),
            ("arguments", arguments.all()),
            ("entries", none.all()),
            ("runs", none.all()),
            ("pairs", list.all()),
        ];
        self.dispatch("emit_sweep", 1, &buffers);
    }

    /// emit_range: more groups of blocks than invocations, blocks without pairs, and windows that begin and end
    /// anywhere.
    fn ranges(&self) {
        let mut bits = random();
        for (blocks, most) in [(0, 1), (1, 100), (257, 8192), (1234, 2), (70_000, 3), (150_000, 1 << 28)] {
            let hits: Vec<u32> = (0..blocks).map(|i| if i % 1000 < 300 { 0 } else { (bits() % most) as u32 }).collect();
            let total: u64 = hits.iter().map(|&hits| u64::from(hits)).sum();
            let buffer = self.buffer(&block_words(&hits));
            for first in [0, 1, total / 3, total.saturating_sub(1), total, total + 1, u64::MAX - 999, u64::MAX] {
                for (capacity, kept, refused) in [(0, 1, 0), (1000, 1, 0), (1000, 0, 0), (u32::MAX, 0, 0), (9, 0, 1)] {
                    let window =
                        Window { first_low: first as u32, first_high: (first >> 32) as u32, capacity, unused: 0 };
                    let sweep_blocks = blocks / 3;
                    let params = Params { tile_capacity: sweep_blocks * kept, ..Params::zeroed() };
                    let giant_blocks = blocks - sweep_blocks;
                    let counts =
                        Counts { sweep_tiles: sweep_blocks, sweep_blocks, giant_blocks, refused, ..Counts::zeroed() };
                    let (params, window, counts) =
                        (self.buffer(&[params]), self.buffer(&[window]), self.buffer(&[counts]));
                    let dispatches = self.output::<Dispatches>(1);
                    let buffers = [
                        ("params", params.all()),
                        ("window", window.all()),
                        ("block_hits", buffer.all()),
                        ("counts", counts.all()),
                        ("dispatches", dispatches.all()),
                    ];
                    self.dispatch("emit_range", 1, &buffers);
                }
            }
        }
    }

    /// emit_sweep: windows that begin and end within one run, also beyond 2³² pairs.
    fn windows(&self) {
        let mut bits = random();
        let runs: Vec<Run> = (0..256)
            .map(|_| {
                let first_rank = (bits() % 1900) as u32;
                Run { hits: bits() as u32, first_rank, first_quad: first_rank.div_ceil(4), turns: 0 }
            })
            .collect();
        let words: Vec<u32> = Run::tile_words(&runs).collect();
        let before = |k: usize| runs[..k].iter().map(|run| run.hits.count_ones()).sum::<u32>();
        let total = u64::from(before(256));
        for base in [0, (1 << 32) - 50, 7 << 32] {
            for (first, capacity) in [(0, 1), (3, 5), (6, 29), (40, 5), (1000, 500), (total - 2, 9), (total, 9)] {
                let first: u64 = base + first;
                let params = Params { tile_capacity: 1, ..Params::zeroed() };
                let window = Window { first_low: first as u32, first_high: (first >> 32) as u32, capacity, unused: 0 };
                let counts = Counts {
                    sweep_tiles: 1,
                    sweep_tiles_per_block: 1,
                    sweep_blocks: 1,
                    giant_blocks: SUM_BLOCKS,
                    ..Counts::zeroed()
                };
                let (params, window, counts) = (self.buffer(&[params]), self.buffer(&[window]), self.buffer(&[counts]));
                let entries = self.buffer(&(0..2048).collect::<Vec<u32>>());
                let found = self.buffer(&words);
                // The pairs of all giants, as one sum.
                let mut hits = block_words(&[vec![0; SUM_BLOCKS as usize], vec![total as u32]].concat());
                hits[..2].copy_from_slice(&[base as u32 & 0xffff, (base >> 16) as u32]);
                let hits = self.buffer(&hits);
                let (header, arguments) = (self.output::<PairHeader>(1), self.output::<PairArguments>(1));
                let list = self.output::<[u32; 2]>(capacity as usize);
                let buffers = [
                    ("params", params.all()),
                    ("window", window.all()),
                    ("counts", counts.all()),
                    ("entries", entries.all()),
                    ("runs", found.all()),
                    ("block_hits", hits.all()),
                    ("header", header.all()),
                    ("arguments", arguments.all()),
                    ("pairs", list.all()),
                ];
                self.dispatch("emit_sweep", 1, &buffers);
            }
        }
    }

    /// emit_include: behind more than 2³² pairs, in windows that begin and end anywhere.
    fn included(&self) {
        let included: Vec<[u32; 2]> = (0..600).map(|i| [i, i + 1]).collect();
        for pairs in [600, 1000, u64::from(u32::MAX) + 300, (1 << 32) + 600, 5 << 32] {
            for first in [0, pairs - 600, pairs - 300, pairs - 1, pairs, pairs.saturating_sub(1 << 32)] {
                for (capacity, refused) in [(1, 0), (300, 0), (5000, 0), (5000, 1)] {
                    let params = Params { include_count: 600, ..Params::zeroed() };
                    let window =
                        Window { first_low: first as u32, first_high: (first >> 32) as u32, capacity, unused: 0 };
                    let counts =
                        Counts { pair_low: pairs as u32, pair_high: (pairs >> 32) as u32, refused, ..Counts::zeroed() };
                    let (params, window, counts) =
                        (self.buffer(&[params]), self.buffer(&[window]), self.buffer(&[counts]));
                    let (included, list) = (self.buffer(&included), self.output::<[u32; 2]>(5000));
                    let buffers = [
                        ("params", params.all()),
                        ("window", window.all()),
                        ("counts", counts.all()),
                        ("included", included.all()),
                        ("pairs", list.all()),
                    ];
                    self.dispatch("emit_include", 3, &buffers);
                }
            }
        }
    }

    /// bin_scatter: more blocks than a group, totals of more than 32 bits, and levels of equal cost.
    fn levels(&self) {
        type Block = [u32; BIN_COUNTS as usize];
        let levels = LEVELS as usize;
        let mut bits = random();
        let mut runs: Vec<(u32, Vec<Block>, Vec<u32>)> = Vec::new();
        for (n, most) in [(1u32, 100u64), (300, 1500), (1234, 4000), (1024 * 300, 100), (1024 * 300 + 7, 5000)] {
            let block = |_| {
                let mut block = Block::zeroed();
                let (mut entries, mut giants) = ((bits() % most) as u32, (bits() % 512) as u32);
                for level in 0..levels {
                    (block[level], block[levels + level]) = (entries, giants);
                    (entries, giants) = (entries / 2 + (bits() % 3) as u32, giants / 2);
                }
                block[2 * levels] = (bits() % 512) as u32;
                block
            };
            let blocks: Vec<Block> = (0..n.div_ceil(BIN_BLOCK)).map(block).collect();
            let total = |level: usize| blocks.iter().map(|block| block[level]).sum::<u32>();
            let capacities = (0..levels).flat_map(|level| [total(level), total(level).saturating_sub(1)]).chain([0]);
            let capacities = capacities.collect();
            runs.push((n, blocks, capacities));
        }
        // The sum of each level except the last three slightly exceeds 2³², over groups that one or several invocations
        // add up.
        let mut blocks = vec![[1; BIN_COUNTS as usize]; 64 * 70];
        for (level, groups) in
            [[0, 1, 2, 3], [5, 37, 69, 6], [31, 32, 33, 34], [8, 9, 10, 11], [66, 67, 68, 69]].into_iter().enumerate()
        {
            groups.into_iter().for_each(|k| blocks[64 * k][level] = 1 << 30);
        }
        runs.push((1024 * 64 * 70, blocks, vec![64 * 70, 5000, 1 << 24, u32::MAX - 1]));
        for giants in [20, 100, 20_000] {
            let mut blocks = vec![[0; BIN_COUNTS as usize]; 1000];
            blocks.iter_mut().for_each(|block| block[..levels].fill(1500));
            blocks[7][levels..][..2].fill(giants);
            runs.push((1024 * 1000, blocks, vec![1 << 24]));
        }
        // Costs near four times the least, in both halves.
        for (n, least) in [(1u32, 64u32), (1 << 24, 1 << 24)] {
            for more in [0, 1, 2] {
                let mut blocks = vec![[0; BIN_COUNTS as usize]; n.div_ceil(BIN_BLOCK) as usize];
                blocks[0][..levels].fill(4 * least + more - 1);
                blocks[0][levels - 2..levels].fill(least);
                runs.push((n, blocks, vec![1 << 30]));
            }
        }
        for (box_count, blocks, capacities) in runs {
            for entry_capacity in capacities {
                self.level(box_count, entry_capacity, &blocks);
            }
        }
    }

    /// Chooses the level of blocks with these counts, and finds the sums before the first blocks and before the first
    /// block of another group. The boxes are invalid, so no entry is written.
    fn level(&self, box_count: u32, entry_capacity: u32, blocks: &[[u32; BIN_COUNTS as usize]]) {
        let sum = |group: &[[u32; BIN_COUNTS as usize]]| {
            std::array::from_fn::<u32, { BIN_COUNTS as usize }, _>(|k| group.iter().map(|block| block[k]).sum())
        };
        let groups: Vec<_> = blocks.chunks(BIN_GROUP as usize).map(sum).collect();
        let limit = Params { candidate_limit_low: u32::MAX, candidate_limit_high: u32::MAX, ..Params::zeroed() };
        let params = self.buffer(&[Params { box_count, entry_capacity, ..limit }]);
        let frame = self.buffer(&[Frame { giant_cells: 64, ..Frame::zeroed() }]);
        let counted = self.buffer(&[groups.as_flattened(), blocks.as_flattened()].concat());
        let most = blocks.len().min(BIN_GROUP as usize + 2);
        let cells = self.buffer(&vec![packed_cells([1, 0, 0, 0], 0); most * BIN_BLOCK as usize]);
        let (counts, ends) = (self.output::<Counts>(1), self.output::<[u32; 2]>(1));
        let lists = [(); 3].map(|()| self.output::<u32>(1));
        let sizes = self.output::<[u32; 3]>(1);
        let buffers = [
            ("params", params.all()),
            ("frame", frame.all()),
            ("cells", cells.all()),
            ("box_ends", ends.all()),
            ("block_counts", counted.all()),
            ("giant_sizes", sizes.all()),
            ("counts", counts.all()),
            ("keys", lists[0].all()),
            ("entries", lists[1].all()),
            ("giants", lists[2].all()),
        ];
        self.dispatch("bin_scatter", most as u32, &buffers);
    }

    /// sort_scatter: more sections than a group has, of few digits.
    fn histograms(&self) {
        let mut bits = random();
        for sections in [2, SECTION_GROUP + 2] {
            let n = sections * SORT_TILE - 5;
            let keys: Vec<u32> = (0..n).map(|_| (bits() % 16) as u32).collect();
            let sort_pass = self.buffer(&[SortPass { digit_bits: RADIX_BITS, ..SortPass::zeroed() }]);
            let counts = self.buffer(&[Counts { entry_count: n, ..Counts::zeroed() }]);
            let histograms = self.output::<u32>((sections * RADIX) as usize);
            let sums = self.buffer(&vec![0u32; (2 * RADIX) as usize]);
            let [keys_in, values_in] = [(); 2].map(|()| self.buffer(&keys));
            let [keys_out, values_out] = [(); 2].map(|()| self.output::<u32>(n as usize));
            let buffers = [
                ("sort_pass", sort_pass.all()),
                ("counts", counts.all()),
                ("keys_in", keys_in.all()),
                ("values_in", values_in.all()),
                ("histograms", histograms.all()),
                ("digit_sums", sums.all()),
                ("keys_out", keys_out.all()),
                ("values_out", values_out.all()),
            ];
            self.dispatch("sort_count", sections, &buffers[..6]);
            self.dispatch("sort_scatter", sections, &buffers);
        }
    }

    /// pca_bounds and frame_choose: bounds that only one of many workgroups has.
    fn statistics(&self) {
        for (n, far) in
            [(18_000u32, Some(1100)), (80_000, Some(35 * 128 + 5)), (300_000, Some(140 * 128 + 5)), (18_000, None)]
        {
            let mut boxes = Kind::Uniform.generate(n as usize, 3);
            let groups = n.div_ceil(PCA_BLOCK);
            if let Some(far) = far {
                boxes[far] = Aabb::new([-3.0, -9.0, 1.0], [7.0, 5.0, 3.0]);
            } else {
                // Ordinary boxes are slightly less than half of all, and the last workgroup has no others.
                let others = boxes.iter_mut().enumerate().filter(|(i, _)| i / 128 % 9 != 8).map(|(_, aabb)| aabb);
                others.take(9010).for_each(|aabb| aabb.max = [1e30; 3]);
            }
            let params = self.buffer(&[Params { box_count: n, ..Params::zeroed() }]);
            let (boxes, bounds) = (self.buffer(&boxes), self.output::<BoundsPartial>(groups as usize));
            let frame = self.output::<Frame>(1);
            let of = |name| match name {
                "params" => (name, params.all()),
                "boxes" | "box_quads" => (name, boxes.all()),
                "bounds" => (name, bounds.all()),
                _ => (name, frame.all()),
            };
            self.dispatch("pca_bounds", groups, &["params", "boxes", "box_quads", "bounds"].map(of));
            self.dispatch("frame_choose", 1, &["params", "boxes", "bounds", "frame"].map(of));
        }
    }
}
