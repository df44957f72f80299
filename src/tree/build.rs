//! The stage `tree`: the order of the leaves, and the bounds of all nodes.

use bytemuck::Zeroable;

use crate::Error;
use crate::constants::{NO_BOX, SORT_TILE};
use crate::filters::lists::FilterLists;
use crate::filters::rows;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::table::{CONSTANT, SIZES, STORAGE, buffer_table};
use crate::grid::sort::{Sort, SortBuffers, histogram_words};
use crate::layout::{Counts, Cube, Dispatches, LevelPass, TreeShape, TreeSummary, dispatch_size};

/// The source of `tree_cube`.
pub const CUBE: Source = source!("tree/tree_cube", "tree/curve", "shared/boxes");
/// The source of `tree_keys`.
pub const KEYS: Source = source!("tree/tree_keys", "tree/curve", "shared/boxes");
/// The source of `tree_worlds`.
pub const WORLDS: Source = source!("tree/tree_worlds"; rows::WGSL);
/// The source of `tree_ranges`.
pub const RANGES: Source = source!("tree/tree_ranges");
/// The source of `tree_leaves`.
pub const LEAVES: Source = source!("tree/tree_leaves", "tree/tree", "tree/node", "shared/boxes");
/// The source of `tree_levels`.
pub const LEVELS: Source = source!("tree/tree_levels", "tree/tree", "tree/node", "tree/places", "tree/curve");
/// The source of `tree_invalid`.
pub const INVALID: Source = source!("tree/tree_invalid");
/// The source of `tree_summary`.
pub const SUMMARY: Source = source!("tree/tree_summary", "shared/scan");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[CUBE, KEYS, WORLDS, RANGES, LEAVES, LEVELS, INVALID, SUMMARY];

/// Children of a node, and boxes of a leaf.
const WIDTH: u64 = 8;
/// Levels that one dispatch of `tree_levels` writes.
const LEVELS_AT_ONCE: u32 = 3;
/// Nodes that a workgroup of `tree_levels` reads.
const NODES_AT_ONCE: u32 = 64;
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
    leaves: Kernel,
    levels: Kernel,
    invalid: Kernel,
    summary: Kernel,
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

    /// Returns the dispatches of `tree_levels`: the lowest level of each, and its workgroups.
    fn passes(self) -> impl Iterator<Item = (u32, u32)> {
        let nodes = self.levels().step_by(LEVELS_AT_ONCE as usize);
        (0..)
            .step_by(LEVELS_AT_ONCE as usize)
            .zip(nodes)
            .map(|(level, nodes)| (level, (nodes as u32).div_ceil(NODES_AT_ONCE)))
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

    fn partials(self) -> u64 {
        self.passes().map(|(_, groups)| u64::from(groups)).sum()
    }

    /// Describes the tree to kernels.
    pub fn shape(self) -> TreeShape {
        let mut shape = TreeShape {
            box_count: self.boxes as u32,
            world_count: self.worlds as u32,
            first_box: self.node_vectors() as u32,
            first_id: self.first_id() as u32,
            partial_count: self.partials() as u32,
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
        /// `[workgroups]` surfaces of nodes.
        partials as "tree_partials": [f32; room.partials()], STORAGE;
        /// `[box_count / 256]` invalid boxes of each 256.
        invalid as "tree_invalid": [u32; room.boxes.div_ceil(256)], STORAGE;
        /// What the host reads.
        summary as "tree_summary": [TreeSummary; 1], STORAGE;
        /// What the sort is told.
        counts as "tree_counts": [Counts; 1], CONSTANT;
        /// The sizes of the sort's dispatches.
        dispatches as "tree_dispatches": [Dispatches; 1], SIZES;
        /// `[box_count]` places along the curve, or worlds.
        keys as "tree_keys": [u32; room.boxes], STORAGE;
        /// `[box_count]` boxes in the order of the keys.
        values as "tree_values": [u32; room.boxes], STORAGE;
        /// Scratch.
        other_keys as "tree_other_keys": [u32; room.boxes], STORAGE;
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

    /// Records the writing of what the sort is told.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_sizes(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, boxes: u32) -> Result<(), Error> {
        let (counts, dispatches) = sort_sizes(boxes);
        self.counts.record_write(gpu, encoder, &[counts])?;
        self.dispatches.record_write(gpu, encoder, &[dispatches])
    }
}

/// Returns what [`Sort::record_pairs`] is told in order to sort this many elements, and `query_times` of as many answers.
pub fn sort_sizes(n: u32) -> (Counts, Dispatches) {
    let counts = Counts { written: n, ..Counts::zeroed() };
    let sizes = Dispatches {
        sort_pairs: dispatch_size(n.div_ceil(SORT_TILE)),
        order: dispatch_size(n.div_ceil(256)),
        query_times: dispatch_size(n.div_ceil(256)),
        ..Dispatches::zeroed()
    };
    (counts, sizes)
}

impl Build {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            cube: Kernel::new(gpu, &CUBE),
            keys: Kernel::new(gpu, &KEYS),
            worlds: Kernel::new(gpu, &WORLDS),
            ranges: Kernel::new(gpu, &RANGES),
            leaves: Kernel::new(gpu, &LEAVES),
            levels: Kernel::new(gpu, &LEVELS),
            invalid: Kernel::new(gpu, &INVALID),
            summary: Kernel::new(gpu, &SUMMARY),
            passes: Constants::new("level"),
        }
    }

    /// Returns the kernels that every build dispatches, and those for worlds.
    pub fn kernels(&self) -> ([&Kernel; 6], [&Kernel; 2]) {
        let always = [&self.cube, &self.keys, &self.leaves, &self.levels, &self.invalid, &self.summary];
        (always, [&self.worlds, &self.ranges])
    }

    /// Records the order of the leaves of a tree of this room, and returns the buffer that it will lie in.
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
    ) -> Buffer<u32> {
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
        let sorted = sort.record_pairs(pass, &tree.counts, &tree.dispatches, &lists, u32::BITS);
        if room.worlds == 0 {
            return sorted.values;
        }
        let buffers = [
            ("tree", shape.all()),
            ("keys", sorted.keys.all()),
            ("values", sorted.values.all()),
            ("filter_layout", filters.layout.all()),
            ("filters", filters.words.all()),
        ];
        self.worlds.dispatch(pass, groups, &buffers);
        let bits = u64::BITS - room.worlds.leading_zeros();
        let by_world = sort.record_pairs(pass, &tree.counts, &tree.dispatches, &sorted, bits);
        let buffers = [("tree", shape.all()), ("keys", by_world.keys.all()), ("ranges", tree.ranges.all())];
        self.ranges.dispatch(pass, (room.boxes as u32 + 1).div_ceil(256), &buffers);
        by_world.values
    }

    /// Records the bounds of all nodes of a tree whose leaves have the order `ids`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record_bounds(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        room: TreeRoom,
        shape: &Buffer<TreeShape>,
        boxes: wgpu::BindingResource,
        ids: &Buffer<u32>,
        tree: &TreeBuffers,
    ) -> Result<(), Error> {
        debug_assert!(room.boxes < u64::from(NO_BOX));
        let buffers = [
            ("tree", shape.all()),
            ("boxes", boxes),
            ("ids", ids.all()),
            ("nodes", tree.nodes.all()),
            ("places", tree.places.all()),
        ];
        let places = (room.boxes.div_ceil(WIDTH) * WIDTH) as u32;
        self.leaves.dispatch(pass, places.div_ceil(256), &buffers);
        let mut first_partial = 0;
        for (level, groups) in room.passes() {
            let own = self.passes.get(gpu, LevelPass { level, first_partial, group_count: groups, unused: 0 })?;
            let buffers = [
                ("tree", shape.all()),
                ("level", own.all()),
                ("cube", tree.cube.all()),
                ("nodes", tree.nodes.all()),
                ("partials", tree.partials.all()),
            ];
            self.levels.dispatch(pass, groups, &buffers);
            first_partial += groups;
        }
        let buffers = [
            ("tree", shape.all()),
            ("partials", tree.partials.all()),
            ("places", tree.places.all()),
            ("invalid", tree.invalid.all()),
            ("summary", tree.summary.all()),
        ];
        self.invalid.dispatch(pass, (room.boxes as u32).div_ceil(256), &buffers);
        self.summary.dispatch(pass, 1, &buffers);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::WAITING_LEVELS;
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
