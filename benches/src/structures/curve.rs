//! Trees over boxes in the order of a curve through their centres: as many in a row as a node is wide are a node, as many
//! nodes in a row the node above. Such a tree needs no pointers.
//!
//! Sources: Kamel and Faloutsos 1993, "On packing R-trees", for the Hilbert curve; Lauterbach et al. 2009, "Fast BVH
//! construction on GPUs", for Morton order. The Hilbert curve is the library's.

use broadsweep::Aabb;
pub use broadsweep::internals::mirror::tree::hilbert;

use super::tree::{Child, To, Tree};
use super::{center, valid};

/// Bits of a place along each axis. Two places that differ lie in different cubes of 2⁻²¹ of the scene.
const BITS: u32 = 21;

/// Builds a tree of nodes of this many children, of boxes in the order of what `place` says of their centres.
pub fn build(boxes: &[Aabb], width: usize, place: fn([u32; 3], u32) -> u64) -> Tree {
    let centers: Vec<([f64; 3], u32)> = valid(boxes).map(|id| (center(&boxes[id as usize]), id)).collect();
    let along = |k: usize| centers.iter().map(move |(center, _)| center[k]);
    let low: [f64; 3] = std::array::from_fn(|k| along(k).fold(f64::INFINITY, f64::min));
    let extent = (0..3).map(|k| along(k).fold(low[k], f64::max) - low[k]).fold(1e-300, f64::max);
    let last = f64::from((1u32 << BITS) - 1);
    let coordinates = |center: &[f64; 3]| std::array::from_fn(|k| ((center[k] - low[k]) / extent * last) as u32);
    let mut order: Vec<(u64, u32)> =
        centers.iter().map(|(center, id)| (place(coordinates(center), BITS), *id)).collect();
    order.sort_unstable();
    let leaf = |&(_, id): &(u64, u32)| Child { bounds: boxes[id as usize], to: To::Box(id) };
    let mut tree = Tree::new(width, 0);
    let mut row: Vec<Child> = order.iter().map(leaf).collect();
    while row.len() > 1 || tree.top().is_none() && !row.is_empty() {
        row = row.chunks(width).map(|children| tree.add(children)).collect();
    }
    tree
}

/// Returns the place of a point in Morton order: the bits of the coordinates in turn.
pub fn morton(point: [u32; 3], bits: u32) -> u64 {
    (0..bits).rev().fold(0, |place, bit| point.iter().fold(place, |place, x| place << 1 | u64::from(x >> bit & 1)))
}
