//! The algorithms of the literature that this crate stands on and is measured against, one file each, on one thread.
//!
//! Each is faithful to its source, which its page names, and small: an algorithm is here to be read, compared and
//! timed. Each is a [`Baseline`], which is shown the boxes of one step after another, and finds the pairs of each. A
//! baseline that keeps something from step to step profits from motion that is small.
//!
//! ```
//! use broadsweep::{Aabb, Pair};
//! use laboratory::baselines;
//!
//! let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([1.0; 3], [2.0; 3]), Aabb::new([3.0; 3], [4.0; 3])];
//! for listing in baselines::ALL {
//!     let mut pairs = Vec::new();
//!     listing.make().find_pairs(&boxes, &mut pairs)?;
//!     assert_eq!(pairs, [Pair { a: 0, b: 1 }], "{}", listing.name);
//! }
//! # Ok::<(), baselines::BaselineError>(())
//! ```

pub mod aabb_tree;
mod endpoints;
pub mod i_collide;
pub(crate) mod list;
pub mod mbp;
pub mod mj_broadphase;
pub mod mj_sap;
pub mod pruning;
pub mod ray_grid;
pub mod scd;
pub mod slabs;
pub mod usscd;

use broadsweep::{Aabb, Pair};

/// An algorithm that is shown one step after another.
pub trait Baseline: Send {
    /// Replaces `pairs` by every pair of `boxes` that overlaps, each once, in no particular order.
    ///
    /// Boxes keep their index from step to step. Another number of boxes than in the step before starts anew.
    /// Invalid boxes pair with nothing, as everywhere in this crate.
    ///
    /// # Errors
    /// The errors of the algorithm's limits. After an error, `pairs` is invalid, and the next step starts anew.
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError>;

    /// Returns the events of the last step, as the algorithm told of them; `None` where it tells of none.
    fn events(&self) -> Option<Changes<'_>> {
        None
    }
}

/// The pairs that began and ended in a step, in no particular order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes<'a> {
    /// Pairs that began.
    pub created: &'a [Pair],
    /// Pairs that ended.
    pub lost: &'a [Pair],
}

/// The work that one step took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Pairs of boxes that were tested for overlap, or compared along the axes that the algorithm had not sorted. In a
    /// tree, also pairs with one or two nodes.
    pub candidates: u64,
    /// Operations that keep a structure up to date: swaps of neighbours, boxes that entered or left a cell, nodes
    /// reinserted or rotated. 0 for an algorithm that starts anew each step.
    pub updates: u64,
    /// Memory that the algorithm holds after the step, in bytes, without boxes and pairs.
    pub bytes: u64,
}

/// The limit of an algorithm that a call exceeds.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// More boxes than its identifiers can name.
    #[error("{algorithm} takes at most {most} boxes, and there are {box_count}: {reason}")]
    TooManyBoxes {
        /// The name of the algorithm.
        algorithm: &'static str,
        /// Boxes requested.
        box_count: u64,
        /// The most it takes.
        most: u64,
        /// Where the limit comes from.
        reason: &'static str,
    },
    /// Its pair buffer is full.
    #[error("the pair buffer of {algorithm} holds {capacity} pairs and is full. Give it a larger one")]
    PairBufferFull {
        /// The name of the algorithm.
        algorithm: &'static str,
        /// Pairs that the buffer holds.
        capacity: u64,
    },
    /// There is no memory for the pairs.
    #[error("{algorithm} finds {pair_count} pairs or more, and there is no memory for a list of them")]
    ListTooLong {
        /// The name of the algorithm.
        algorithm: &'static str,
        /// Pairs that were counted.
        pair_count: u64,
    },
    /// A valid box has a coordinate that it cannot take.
    #[error("{algorithm} takes no coordinates beyond ±{most:e}, and box {index} has one: {reason}")]
    BoxTooFar {
        /// The name of the algorithm.
        algorithm: &'static str,
        /// The first such box.
        index: u32,
        /// The largest coordinate that it takes, on either side of 0.
        most: f32,
        /// Where the limit comes from.
        reason: &'static str,
    },
}

/// The listing of an algorithm or a library: its name, what it is, and how to make one.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// The name to type and to print.
    pub name: &'static str,
    /// The description of the algorithm, in a line.
    pub description: &'static str,
    /// The most boxes that the algorithm takes, where it has such a limit: more are refused at once.
    pub most_boxes: Option<usize>,
    make: fn() -> Box<dyn Baseline>,
}

impl Listing {
    pub(crate) const fn new(name: &'static str, description: &'static str, make: fn() -> Box<dyn Baseline>) -> Self {
        Self { name, description, most_boxes: None, make }
    }

    const fn at_most(self, boxes: usize) -> Self {
        Self { most_boxes: Some(boxes), ..self }
    }

    /// Creates the algorithm, which has seen no step yet.
    pub fn make(&self) -> Box<dyn Baseline> {
        (self.make)()
    }
}

/// Every algorithm.
pub const ALL: &[Listing] = &[
    Listing::new(
        "mj_sap",
        "sort starts and ends along one axis (by default x), keep a list of the boxes that have begun (MuJoCo)",
        || Box::new(mj_sap::MjSap::default()),
    )
    .at_most(mj_sap::MOST_BOXES),
    Listing::new(
        "mj_broadphase",
        "the same along the principal axis of the centroids, then the exact test (MuJoCo)",
        || Box::new(mj_broadphase::MjBroadphase::default()),
    )
    .at_most(mj_sap::MOST_BOXES),
    Listing::new("scd", "sweep and prune on three axes, sorted by balanced trees", || Box::new(scd::Scd::default())),
    Listing::new(
        "i_collide",
        "three lists that insertion sort keeps sorted, pairs that change where it swaps (I-COLLIDE)",
        || Box::new(i_collide::ICollide::default()),
    ),
    Listing::new("usscd", "uniform cells of the optimal size, sweep and prune inside each", || {
        Box::new(usscd::Usscd::default())
    }),
    Listing::new("pruning", "sort by the minimum on x, stop at the first start past the end (PhysX)", || {
        Box::new(pruning::Pruning::default())
    }),
    Listing::new("mbp", "cut the bounds into regions until few boxes are in each, then pruning there (PhysX)", || {
        Box::new(mbp::Mbp::default())
    }),
    Listing::new(
        "aabb_tree",
        "two dynamic trees, for boxes at rest and boxes that move; only those that move search",
        || Box::new(aabb_tree::DynamicTrees::default()),
    ),
];

/// Finds the algorithm of this name.
pub fn by_name(name: &str) -> Option<&'static Listing> {
    ALL.iter().find(|listing| listing.name == name)
}
