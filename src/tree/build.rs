//! The stage `tree`: orders the leaves, and computes the bounds of all nodes.

use bytemuck::Zeroable;

use crate::Error;
use crate::base::constants::{BOTTOM_BOXES, NO_BOX, PLACE_BITS};
use crate::base::layout::{Counts, Cube, TreeShape, TreeSummary, sort_sections};
use crate::filters::lists::FilterLists;
use crate::filters::rows;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::sort_buffers::SortBuffers;
use crate::gpu::table::{Bound, CONSTANT, STORAGE, buffer_table};
use crate::grid::sort::{Sort, digit_sum_u32_count, histogram_u32_count};

/// The source of `tree_cube`.
pub const CUBE: Source = source!("tree/tree_cube", "tree/curve", "shared/boxes");
/// The source of `tree_keys`.
pub const KEYS: Source = source!("tree/tree_keys", "tree/curve", "grid/sort_histogram", "grid/sort", "shared/boxes");
/// The source of `tree_worlds`.
pub const WORLDS: Source = source!("tree/tree_worlds"; rows::WGSL);
/// The source of `tree_ranges`.
pub const RANGES: Source = source!("tree/tree_ranges");
/// The source of `tree_places`.
pub const PLACES: Source = source!("tree/tree_places", "tree/tree");
/// The source of `tree_bottom`.
pub const BOTTOM: Source = source!(
    "tree/tree_bottom", "tree/tree_node", "tree/tree", "tree/node", "tree/places", "tree/curve", "shared/boxes";
    rows::WGSL
);
/// The source of `tree_top`.
pub const TOP: Source =
    source!("tree/tree_top", "tree/tree_node", "tree/tree", "tree/node", "tree/curve", "shared/boxes", "shared/scan");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: [Source; 7] = [CUBE, KEYS, WORLDS, RANGES, PLACES, BOTTOM, TOP];

/// Children of a node, and boxes of a leaf.
const WIDTH: u64 = 8;
/// u32 count of the bounds of a node of the third level, which has up to 512 boxes.
const BOUNDS_U32_COUNT: u64 = 8;
/// Vectors of a node.
const NODE_VECTORS: u64 = 4;
/// Vectors of the boxes of a leaf, and of their ids.
const BOX_VECTORS: u64 = 6 * WIDTH / 4;
const ID_VECTORS: u64 = WIDTH / 4;

/// The kernels of the stage `tree`.
#[derive(Debug)]
pub struct Build {
    /// The compiled [`KERNELS`].
    kernels: [Kernel; 7],
}

/// The box count and the world count of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeCapacity {
    /// Boxes.
    pub boxes: u64,
    /// Worlds, without the global world; 0 without worlds.
    pub worlds: u64,
}

impl TreeCapacity {
    /// Returns the node count of each level of the tree, the leaves first.
    fn levels(self) -> impl Iterator<Item = u64> {
        let first = (self.boxes > 0).then(|| self.boxes.div_ceil(WIDTH));
        std::iter::successors(first, |&nodes| (nodes > 1).then(|| nodes.div_ceil(WIDTH)))
    }

    /// Returns the vectors of all nodes.
    fn node_vectors(self) -> u64 {
        self.levels().sum::<u64>() * NODE_VECTORS
    }

    /// Returns the begin of the ids, in vectors: after the nodes and the boxes.
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
    pub struct TreeBuffers(capacity: TreeCapacity) {
        /// The nodes, level by level; then the boxes in the order of the leaves; then the ids of these boxes.
        nodes: [[u32; 4]; capacity.vectors()], STORAGE;
        /// `[box_count]` the place of each box among the leaves.
        places: [u32; capacity.boxes], STORAGE;
        /// `[world_count + 2]` the begin of the leaves of each world.
        ranges: [u32; capacity.worlds + 2], STORAGE;
        /// The cube that the curve fills.
        cube: [Cube; 1], CONSTANT;
        /// `[box_count / 256 + 1]` the count of invalid boxes in each block of 256 boxes; then a flag, not 0 if there
        /// are any.
        invalid as "tree_invalid": [u32; capacity.boxes.div_ceil(256) + 1], STORAGE;
        /// The values that the host reads.
        summary as "tree_summary": [TreeSummary; 1], STORAGE;
        /// The parameters of the sort.
        counts as "tree_counts": [Counts; 1], CONSTANT;
        /// `[box_count]` places along the curve, or worlds; then the bounds of the nodes of a level.
        keys as "tree_keys": [u32; capacity.boxes.max(BOUNDS_U32_COUNT)], STORAGE;
        /// `[box_count]` boxes in the order of the keys.
        values as "tree_values": [u32; capacity.boxes], STORAGE;
        /// Scratch.
        other_keys as "tree_other_keys": [u32; capacity.boxes], STORAGE;
        /// Scratch.
        other_values as "tree_other_values": [u32; capacity.boxes], STORAGE;
        /// Scratch.
        histograms as "tree_histograms": [u32; histogram_u32_count(capacity.boxes)], STORAGE;
        /// Sums of the sort.
        digit_sums as "tree_digit_sums": [u32; digit_sum_u32_count(capacity.boxes)], STORAGE;
    }
}

impl TreeBuffers {
    fn lists(&self) -> SortBuffers {
        let Self { keys, values, other_keys, other_values, histograms, digit_sums, .. } = self;
        SortBuffers::of([keys, values, other_keys, other_values, histograms, digit_sums])
    }

    /// Records the clearing of the counts of invalid boxes. Record it before [`Build::record_bounds`].
    pub fn record_no_invalid(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.clear_buffer(self.invalid.raw(), 0, None);
    }

    /// Records the parameters of the sort, and the clearing of its sums.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_counts(&self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, boxes: u32) -> Result<(), Error> {
        self.lists().record_clear(encoder);
        self.counts.record_write(gpu, encoder, &[sort_counts(boxes)])
    }
}

/// Returns the parameters of [`Sort::record_pairs`] for this many elements.
pub fn sort_counts(n: u32) -> Counts {
    Counts { written: n, ..Counts::zeroed() }
}

/// The input of a build.
#[derive(Clone, Debug)]
pub struct BuildInput<'a> {
    /// The box count and the world count of the tree, at most the capacity of its buffers.
    pub capacity: TreeCapacity,
    /// The shape of the tree.
    pub shape: &'a Buffer<TreeShape>,
    /// The boxes.
    pub boxes: wgpu::BindingResource<'a>,
    /// The buffers of the tree.
    pub tree: &'a TreeBuffers,
    /// The filters of the boxes: boxes that stand for half-spaces are not in the tree.
    pub filters: &'a FilterLists,
}

impl BuildInput<'_> {
    fn bound(&self) -> Bound<'_> {
        [vec![("tree", self.shape.all()), ("boxes", self.boxes.clone())], self.filters.bound()].concat()
    }
}

impl Build {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { kernels: KERNELS.map(|source| Kernel::new(gpu, &source)) }
    }

    /// Lists the kernels of builds and refits without worlds.
    pub fn kernels(&self) -> Vec<&Kernel> {
        let [cube, keys, _, _, places, bottom, top] = &self.kernels;
        vec![cube, keys, places, bottom, top]
    }

    /// Records the computation of the order of the leaves, and of the place of each box among them.
    pub fn record_order(&self, pass: &mut Pass, sort: &Sort, input: &BuildInput) {
        let BuildInput { capacity, tree, .. } = *input;
        let groups = (capacity.boxes as u32).div_ceil(256);
        let buffers = [input.bound(), tree.bound()].concat();
        let [cube, keys, worlds, ranges, leaves, _, _] = &self.kernels;
        cube.dispatch(pass, 1, &buffers);
        let lists = tree.lists();
        let first_count = sort.first_count(&tree.counts, &lists);
        keys.dispatch(pass, sort_sections(capacity.boxes) as u32, &[first_count, buffers.clone()].concat());
        let mut sorted =
            sort.record_pairs(pass, &tree.counts, capacity.boxes as u32, lists.clone().counted(), PLACE_BITS);
        if capacity.worlds > 0 {
            worlds.dispatch(pass, groups, &[sorted.bound(), buffers.clone()].concat());
            let bits = u64::BITS - capacity.worlds.leading_zeros();
            sorted = sort.record_pairs(pass, &tree.counts, capacity.boxes as u32, sorted, bits);
            let buffers = [sorted.bound(), buffers.clone()].concat();
            ranges.dispatch(pass, (capacity.worlds as u32 + 2).div_ceil(256), &buffers);
        }
        let places = (capacity.boxes.div_ceil(WIDTH) * WIDTH) as u32;
        leaves.dispatch(pass, places.div_ceil(256), &[sorted.bound(), buffers].concat());
    }

    /// Records the computation of the bounds of all nodes. Record it after [`record_order`](Self::record_order) and
    /// [`TreeBuffers::record_no_invalid`].
    pub fn record_bounds(&self, pass: &mut Pass, input: &BuildInput) {
        let BuildInput { capacity, tree, .. } = *input;
        debug_assert!(capacity.boxes < u64::from(NO_BOX));
        let buffers = [input.bound(), vec![("bounds", tree.keys.all())], tree.bound()].concat();
        let [.., bottom, top] = &self.kernels;
        bottom.dispatch(pass, (capacity.boxes as u32).div_ceil(BOTTOM_BOXES), &buffers);
        top.dispatch(pass, 1, &buffers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::constants::WAITING_LEVELS;
    use crate::gpu::limits::MOST_BINDING;

    #[test]
    fn no_tree_that_fits_a_binding_has_more_levels_than_a_walk_stores() {
        let fits = |boxes: u64| TreeCapacity { boxes, worlds: 0 }.vectors() * 16 <= MOST_BINDING;
        let (mut boxes, mut step) = (0, 1 << 32);
        while step > 0 {
            boxes += if fits(boxes + step) { step } else { 0 };
            step /= 2;
        }
        assert!(boxes > 1 << 26 && !fits(boxes + 1), "{boxes}");
        let capacity = TreeCapacity { boxes, worlds: 0 };
        // One level of leaves, which walks never put on their stacks, and `WAITING_LEVELS` levels above.
        assert_eq!(capacity.levels().count(), 1 + WAITING_LEVELS as usize);
        assert!(capacity.shape().first_nodes.as_flattened().len() > WAITING_LEVELS as usize);
        assert!(WAITING_LEVELS.is_power_of_two());
    }
}
