//! Structures over the same boxes, compared by what queries cost in them: counted, not timed.
//!
//! | file | has |
//! |---|---|
//! | `search` | a query on its way, with what it costs |
//! | `tree` | trees of every kind, and the one way through all of them |
//! | `curve` | trees over a Hilbert curve, which the library has with eight children, and over Morton order |
//! | `sah` | the binary tree by surfaces, and the same with wider nodes |
//! | `columns` | the sorted columns of the search for pairs |
//! | `count` | the mean over many queries, and tables of it |
//!
//! Boxes are finite; invalid ones are left out. All structures give the same answers, ties by index, with plain arithmetic in
//! double precision. None remembers anything from one query to the next, as the library's does for boxes near a point. A box
//! or the bounds of a node are 24 bytes, and what says where a child is 4; trees over a curve need the latter nowhere, as
//! children lie in a row. The index of an answer is not counted.

mod columns;
pub mod count;
mod curve;
mod sah;
mod search;
#[cfg(test)]
mod tests;
mod tree;

use broadsweep::Aabb;

pub use search::{Counts, Search, Target};

/// Bytes of a box, or of the bounds of a node.
const BOX_BYTES: u64 = 24;

/// A structure over boxes.
pub trait Structure {
    /// Takes a query through the structure.
    fn search(&self, search: &mut Search);

    /// Returns the levels of nodes, if there are any.
    fn height(&self) -> Option<u32>;

    /// Counts the bytes of the structure.
    fn bytes(&self) -> u64;
}

/// The listing of a structure.
#[derive(Clone, Copy)]
pub struct Listing {
    /// The name to print.
    pub name: &'static str,
    /// How it is built, which says what that costs.
    pub built_by: &'static str,
    /// Builds it.
    pub build: fn(&[Aabb]) -> Box<dyn Structure>,
}

/// Every structure. The first is what the library has, and what others are compared with.
pub const ALL: [Listing; 7] = [
    Listing {
        name: "Hilbert, 8 children",
        built_by: "a radix sort, then all nodes of a level at once",
        build: |boxes| Box::new(curve::build(boxes, 8, curve::hilbert)),
    },
    Listing {
        name: "Hilbert, 4 children",
        built_by: "the same",
        build: |boxes| Box::new(curve::build(boxes, 4, curve::hilbert)),
    },
    Listing {
        name: "Hilbert, 16 children",
        built_by: "the same",
        build: |boxes| Box::new(curve::build(boxes, 16, curve::hilbert)),
    },
    Listing {
        name: "Morton, 8 children",
        built_by: "the same, with simpler keys",
        build: |boxes| Box::new(curve::build(boxes, 8, curve::morton)),
    },
    Listing {
        name: "binned SAH, 2 children",
        built_by: "from the top: all boxes are binned and divided once for each level",
        build: |boxes| Box::new(sah::build(boxes)),
    },
    Listing {
        name: "binned SAH, 8 children",
        built_by: "the same, then a pass that makes nodes wider",
        build: |boxes| Box::new(sah::collapse(&sah::build(boxes), 8)),
    },
    Listing {
        name: "sorted columns",
        built_by: "entries counted and placed, then a radix sort; no nodes",
        build: |boxes| Box::new(columns::Columns::build(boxes)),
    },
];

/// Returns the indices of the valid boxes.
fn valid(boxes: &[Aabb]) -> impl Iterator<Item = u32> {
    (0..).zip(boxes).filter(|(_, aabb)| aabb.is_valid()).map(|(id, _)| id)
}

fn center(aabb: &Aabb) -> [f64; 3] {
    std::array::from_fn(|k| 0.5 * (f64::from(aabb.min[k]) + f64::from(aabb.max[k])))
}
