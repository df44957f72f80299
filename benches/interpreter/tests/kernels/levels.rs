//! The levels of a tree above its lowest ones, alone: in the library, only trees of more than a million boxes have a
//! level that takes more than one round of `tree_top`.

use broadsweep::internals::constants::BOTTOM_BOXES;
use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::{Kernel, Pass};
use broadsweep::internals::layout::TreeSummary;
use broadsweep::internals::mirror::tree::{cube, leaves, top};
use broadsweep::internals::tree::build::{TOP, TreeCapacity};
use broadsweep::{Aabb, Error, Gpu, Pair};

use crate::tree_queries::{encoder, read};

/// Words of a node.
const NODE_WORDS: usize = 16;

/// Returns the bounds of nodes: a box each, or nothing if it is invalid.
fn bounds_of_nodes(boxes: &[Aabb]) -> Vec<Aabb> {
    let places: Vec<u32> = (0..boxes.len() as u32).collect();
    leaves(boxes, &places)
}

/// Converts the words of nodes to pairs.
fn as_pairs(words: &[u32]) -> Vec<Pair> {
    words.chunks(2).map(|two| Pair { a: two[0], b: two[1] }).collect()
}

/// Builds the nodes above nodes of the third level with these bounds, and returns them.
pub fn make(gpu: &Gpu, boxes: &[Aabb]) -> Result<Vec<Pair>, Error> {
    let box_count = u64::from(BOTTOM_BOXES) * boxes.len() as u64;
    let shape = TreeCapacity { boxes: box_count, worlds: 0 }.shape();
    let (first, all) = (shape.first_nodes[0][3] as usize, shape.first_box as usize / 4);
    let known = |(i, aabb): (usize, &Aabb)| {
        let ([x, y, z], [a, b, c]) = (aabb.min, aabb.max);
        [x, y, z, a, b, c, i as f32, 0.0]
    };
    let known: Vec<[f32; 8]> = bounds_of_nodes(boxes)[..boxes.len()].iter().enumerate().map(known).collect();
    let bounds = Buffer::storage(gpu, "bounds", known.len() as u64)?;
    bounds.write(gpu, &known);
    let nodes = Buffer::storage(gpu, "nodes", all as u64)?;
    nodes.write(gpu, &vec![[0u32; NODE_WORDS]; all]);
    // The count of invalid boxes is 0, so no box is read.
    let boxes_of_tree = Buffer::<Aabb>::storage(gpu, "boxes", 1)?;
    let invalid = Buffer::storage(gpu, "invalid", box_count / 256 + 1)?;
    invalid.write(gpu, &vec![0u32; invalid.len() as usize]);
    let summary = Buffer::<TreeSummary>::storage(gpu, "summary", 1)?;
    let shape = Buffer::uniform(gpu, "tree", &[shape])?;
    let cube = Buffer::uniform(gpu, "cube", &[cube(boxes)])?;
    let mut encoder = encoder(gpu);
    let mut pass = Pass::begin(gpu, &mut encoder);
    let buffers = [
        ("tree", shape.all()),
        ("cube", cube.all()),
        ("boxes", boxes_of_tree.all()),
        ("nodes", nodes.all()),
        ("bounds", bounds.all()),
        ("invalid", invalid.all()),
        ("summary", summary.all()),
    ];
    Kernel::new(gpu, &TOP).dispatch(&mut pass, 1, &buffers);
    pass.finish()?;
    drop(pass);
    let words = read(gpu, encoder, &[(nodes.raw(), NODE_WORDS * all)]);
    Ok(as_pairs(&words[NODE_WORDS * first..]))
}

/// Returns the expected nodes.
pub fn expected(boxes: &[Aabb]) -> Vec<Pair> {
    as_pairs(top(bounds_of_nodes(boxes)).concat().as_flattened())
}
