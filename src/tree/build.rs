//! The stage `tree`: the order of the leaves, and the bounds of all nodes.

use bytemuck::Zeroable;

use crate::Error;
use crate::constants::{BOTTOM_BOXES, BOTTOM_LEVELS, NO_BOX, PLACE_BITS, TOP_NODES, WAITING_LEVELS};
use crate::filters::lists::FilterLists;
use crate::filters::rows;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::table::{CONSTANT, STORAGE, buffer_table};
use crate::grid::sort::{Sort, SortBuffers, histogram_words, tiles_of};
use crate::layout::{Counts, Cube, LevelPass, TreeShape, TreeSummary};

/// The source of `tree_cube`.
pub const CUBE: Source = source!("tree/tree_cube", "tree/curve", "shared/boxes");
/// The source of `tree_keys`.
pub const KEYS: Source = source!("tree/tree_keys", "tree/curve", "shared/boxes");
/// The source of `tree_worlds`.
pub const WORLDS: Source = source!("tree/tree_worlds"; rows::WGSL);
/// The source of `tree_ranges`.
pub const RANGES: Source = source!("tree/tree_ranges");
/// The source of `tree_places`.
pub const PLACES: Source = source!("tree/tree_places", "tree/tree");
/// The source of `tree_bottom`.
pub const BOTTOM: Source = source!(
    "tree/tree_bottom",
    "tree/tree_made",
    "tree/tree_node",
    "tree/tree_keep",
    "tree/tree",
    "tree/node",
    "tree/places",
    "tree/curve",
    "shared/boxes"
);
/// The source of `tree_levels`.
pub const LEVELS: Source = source!(
    "tree/tree_levels",
    "tree/tree_node",
    "tree/tree_keep",
    "tree/tree_kept",
    "tree/tree",
    "tree/node",
    "tree/curve"
);
/// The source of `tree_top`.
pub const TOP: Source = source!(
    "tree/tree_top",
    "tree/tree_made",
    "tree/tree_node",
    "tree/tree_kept",
    "tree/tree",
    "tree/node",
    "tree/curve",
    "shared/boxes",
    "shared/scan"
);
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[CUBE, KEYS, WORLDS, RANGES, PLACES, BOTTOM, LEVELS, TOP];

/// Children of a node, and boxes of a leaf.
const WIDTH: u64 = 8;
/// Nodes that a workgroup of `tree_levels` writes.
const NODES_AT_ONCE: u32 = 64;
/// Words that say what bounds a node while those above it are made.
const BOUNDS_WORDS: u64 = 8;
/// Vectors of a node.
const NODE_VECTORS: u64 = 4;
/// Vectors of the boxes of a leaf, and of their ids.
const BOX_VECTORS: u64 = 6 * WIDTH / 4;
const ID_VECTORS: u64 = WIDTH / 4;

/// The kernels of the stage `tree`.
#[derive(Debug)]
pub struct Build {
    cube: Kernel,
    keys: Kernel,
    worlds: Kernel,
    ranges: Kernel,
    places: Kernel,
    bottom: Kernel,
    levels: Kernel,
    top: Kernel,
    passes: Constants<LevelPass>,
}

/// How many boxes and worlds a tree has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeRoom {
    /// Boxes.
    pub boxes: u64,
    /// Worlds beside the global one; 0 where worlds do not matter.
    pub worlds: u64,
}

impl TreeRoom {
    /// Returns the levels of the tree, each with its number of nodes; the leaves first.
    fn levels(self) -> impl Iterator<Item = u64> {
        let first = (self.boxes > 0).then(|| self.boxes.div_ceil(WIDTH));
        std::iter::successors(first, |&nodes| (nodes > 1).then(|| nodes.div_ceil(WIDTH)))
    }

    /// Returns the words of the scratch that holds keys, and then the bounds of the nodes of a level.
    fn scratch_words(self) -> u64 {
        self.boxes.max(self.boxes.div_ceil(WIDTH) * BOUNDS_WORDS)
    }

    /// Returns the vectors of all nodes.
    fn node_vectors(self) -> u64 {
        self.levels().sum::<u64>() * NODE_VECTORS
    }

    /// Returns where ids begin, in vectors: behind the nodes and the boxes.
    fn first_id(self) -> u64 {
        self.node_vectors() + self.boxes.div_ceil(WIDTH) * BOX_VECTORS
    }

    /// Returns the vectors of the buffer of nodes.
    fn vectors(self) -> u64 {
        self.first_id() + self.boxes.div_ceil(WIDTH) * ID_VECTORS
    }

    /// Describes the tree to kernels.
    pub fn shape(self) -> TreeShape {
        let mut shape = TreeShape {
            box_count: self.boxes as u32,
            world_count: self.worlds as u32,
            first_box: self.node_vectors() as u32,
            first_id: self.first_id() as u32,
            ..TreeShape::zeroed()
        };
        let mut first = 0;
        for (level, nodes) in self.levels().enumerate() {
            shape.first_nodes[level / 4][level % 4] = first as u32;
            shape.level_count = level as u32 + 1;
            first += nodes;
        }
        shape
    }
}

buffer_table! {
    /// The buffers of a tree.
    pub struct TreeBuffers(room: TreeRoom) {
        /// The nodes, level by level, and behind them the boxes at the places among the leaves, and their ids.
        nodes: [[u32; 4]; room.vectors()], STORAGE;
        /// `[box_count]` the place of each box among the leaves.
        places: [u32; room.boxes], STORAGE;
        /// `[world_count + 2]` where the leaves of each world begin.
        ranges: [u32; room.worlds + 2], STORAGE;
        /// The part of space that the curve goes through.
        cube: [Cube; 1], CONSTANT;
        /// `[box_count / 256 + 1]` invalid boxes of each 256, and whether there are any.
        invalid as "tree_invalid": [u32; room.boxes.div_ceil(256) + 1], STORAGE;
        /// What the host reads.
        summary as "tree_summary": [TreeSummary; 1], STORAGE;
        /// What the sort is told.
        counts as "tree_counts": [Counts; 1], CONSTANT;
        /// `[box_count]` places along the curve, or worlds; then the bounds of every other level.
        keys as "tree_keys": [u32; room.scratch_words()], STORAGE;
        /// `[box_count]` boxes in the order of the keys.
        values as "tree_values": [u32; room.boxes], STORAGE;
        /// Scratch; then the bounds of the levels between them.
        other_keys as "tree_other_keys": [u32; room.scratch_words()], STORAGE;
        /// Scratch.
        other_values as "tree_other_values": [u32; room.boxes], STORAGE;
        /// Scratch.
        histograms as "tree_histograms": [u32; histogram_words(room.boxes)], STORAGE;
    }
}

impl TreeBuffers {
    fn lists(&self) -> SortBuffers {
        SortBuffers {
            keys: self.keys.clone(),
            values: self.values.clone(),
            other_keys: self.other_keys.clone(),
            other_values: self.other_values.clone(),
            histograms: self.histograms.clone(),
        }
    }

    /// Records that no box is known to be invalid, before [`Build::record_bounds`].
    pub fn record_no_invalid(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.clear_buffer(self.invalid.raw(), 0, None);
    }

    /// Records the writing of what the sort is told.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_counts(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, boxes: u32) -> Result<(), Error> {
        self.counts.record_write(gpu, encoder, &[sort_counts(boxes)])
    }
}

/// Returns what [`Sort::record_pairs`] is told in order to sort this many elements.
pub fn sort_counts(n: u32) -> Counts {
    Counts { written: n, ..Counts::zeroed() }
}

impl Build {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            cube: Kernel::new(gpu, &CUBE),
            keys: Kernel::new(gpu, &KEYS),
            worlds: Kernel::new(gpu, &WORLDS),
            ranges: Kernel::new(gpu, &RANGES),
            places: Kernel::new(gpu, &PLACES),
            bottom: Kernel::new(gpu, &BOTTOM),
            levels: Kernel::new(gpu, &LEVELS),
            top: Kernel::new(gpu, &TOP),
            passes: Constants::keeping("level", 1 + WAITING_LEVELS as usize),
        }
    }

    /// Lists the kernels of builds and refits without worlds.
    pub fn kernels(&self) -> Vec<&Kernel> {
        let Self { cube, keys, places, bottom, levels, top, .. } = self;
        vec![cube, keys, places, bottom, levels, top]
    }

    /// Records the order of the leaves of a tree of this room, and where each box lies among them.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record_order(
        &self,
        pass: &mut Pass,
        sort: &Sort,
        room: TreeRoom,
        shape: &Buffer<TreeShape>,
        boxes: wgpu::BindingResource,
        filters: &FilterLists,
        tree: &TreeBuffers,
    ) {
        let groups = (room.boxes as u32).div_ceil(256);
        let lists = tree.lists();
        let buffers = [
            ("tree", shape.all()),
            ("boxes", boxes),
            ("cube", tree.cube.all()),
            ("keys", lists.keys.all()),
            ("values", lists.values.all()),
        ];
        self.cube.dispatch(pass, 1, &buffers);
        self.keys.dispatch(pass, groups, &buffers);
        let mut sorted = sort.record_pairs(pass, &tree.counts, tiles_of(room.boxes as u32), &lists, PLACE_BITS);
        if room.worlds > 0 {
            let buffers = [
                ("tree", shape.all()),
                ("keys", sorted.keys.all()),
                ("values", sorted.values.all()),
                ("filter_layout", filters.layout.all()),
                ("filters", filters.words.all()),
            ];
            self.worlds.dispatch(pass, groups, &buffers);
            let bits = u64::BITS - room.worlds.leading_zeros();
            sorted = sort.record_pairs(pass, &tree.counts, tiles_of(room.boxes as u32), &sorted, bits);
            let buffers = [("tree", shape.all()), ("keys", sorted.keys.all()), ("ranges", tree.ranges.all())];
            self.ranges.dispatch(pass, (room.boxes as u32 + 1).div_ceil(256), &buffers);
        }
        let buffers = [
            ("tree", shape.all()),
            ("ids", sorted.values.all()),
            ("nodes", tree.nodes.all()),
            ("places", tree.places.all()),
        ];
        let places = (room.boxes.div_ceil(WIDTH) * WIDTH) as u32;
        self.places.dispatch(pass, places.div_ceil(256), &buffers);
    }

    /// Records the bounds of all nodes of a tree whose leaves have an order, that of the last [`record_order`](Self::record_order),
    /// behind [`TreeBuffers::record_no_invalid`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_bounds(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        room: TreeRoom,
        shape: &Buffer<TreeShape>,
        boxes: wgpu::BindingResource,
        tree: &TreeBuffers,
    ) -> Result<(), Error> {
        debug_assert!(room.boxes < u64::from(NO_BOX));
        let (mut below, mut bounds) = (&tree.keys, &tree.other_keys);
        let buffers = [
            ("tree", shape.all()),
            ("cube", tree.cube.all()),
            ("boxes", boxes.clone()),
            ("nodes", tree.nodes.all()),
            ("invalid", tree.invalid.all()),
            ("bounds", below.all()),
        ];
        self.bottom.dispatch(pass, (room.boxes as u32).div_ceil(BOTTOM_BOXES), &buffers);
        let mut level = BOTTOM_LEVELS.min(room.levels().count() as u32);
        let level_of = |level| self.passes.get(gpu, LevelPass { level, ..LevelPass::zeroed() });
        for nodes in room.levels().skip(level as usize).take_while(|&nodes| nodes > u64::from(TOP_NODES)) {
            let own = level_of(level)?;
            let buffers = [
                ("tree", shape.all()),
                ("level", own.all()),
                ("cube", tree.cube.all()),
                ("nodes", tree.nodes.all()),
                ("below", below.all()),
                ("bounds", bounds.all()),
            ];
            self.levels.dispatch(pass, (nodes as u32).div_ceil(NODES_AT_ONCE), &buffers);
            std::mem::swap(&mut below, &mut bounds);
            level += 1;
        }
        let own = level_of(level)?;
        let buffers = [
            ("tree", shape.all()),
            ("level", own.all()),
            ("cube", tree.cube.all()),
            ("boxes", boxes),
            ("nodes", tree.nodes.all()),
            ("below", below.all()),
            ("invalid", tree.invalid.all()),
            ("summary", tree.summary.all()),
        ];
        self.top.dispatch(pass, 1, &buffers);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::limits::MOST_BINDING;

    #[test]
    fn no_tree_that_fits_a_binding_has_more_levels_than_walks_keep() {
        let fits = |boxes: u64| TreeRoom { boxes, worlds: 0 }.vectors() * 16 <= MOST_BINDING;
        let (mut boxes, mut step) = (0, 1 << 32);
        while step > 0 {
            boxes += if fits(boxes + step) { step } else { 0 };
            step /= 2;
        }
        assert!(boxes > 1 << 26 && !fits(boxes + 1), "{boxes}");
        let room = TreeRoom { boxes, worlds: 0 };
        // The leaves, of which none waits, and the others.
        assert_eq!(room.levels().count(), 1 + WAITING_LEVELS as usize);
        assert!(room.shape().first_nodes.as_flattened().len() > WAITING_LEVELS as usize);
        assert!(WAITING_LEVELS.is_power_of_two());
    }
}
