//! The levels of a tree above its lowest ones, alone: the library makes one by one only those of trees of more than a million boxes, and
//! in trees of few boxes none at all.

use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::{Kernel, Pass};
use broadsweep::internals::layout::{LevelPass, TreeSummary};
use broadsweep::internals::mirror::tree::{cube, leaves, top};
use broadsweep::internals::tree::build::{LEVELS, TOP, TreeRoom};
use broadsweep::{Aabb, Error, Gpu, Pair};
use bytemuck::Zeroable;

use crate::asks::{encoder, read};

/// Words of a node.
const NODE_WORDS: usize = 16;

/// Returns what bounds the leaves: a box each, or nothing where it is invalid.
fn bounds_of_leaves(boxes: &[Aabb]) -> Vec<Aabb> {
    let places: Vec<u32> = (0..boxes.len() as u32).collect();
    leaves(boxes, &places)
}

/// Takes the words of nodes for pairs.
fn as_pairs(words: &[u32]) -> Vec<Pair> {
    words.chunks(2).map(|two| Pair { a: two[0], b: two[1] }).collect()
}

/// Makes the nodes above leaves that boxes bound, those of the lowest level by `tree_levels`, and returns them.
pub fn make(gpu: &Gpu, boxes: &[Aabb]) -> Result<Vec<Pair>, Error> {
    let shape = TreeRoom { boxes: 8 * boxes.len() as u64, worlds: 0 }.shape();
    let (leaf_count, count, all) = (boxes.len(), boxes.len().div_ceil(8), shape.first_box as usize / 4);
    let known = |(i, aabb): (usize, &Aabb)| {
        let ([x, y, z], [a, b, c]) = (aabb.min, aabb.max);
        [x, y, z, a, b, c, i as f32, 0.0]
    };
    let known: Vec<[f32; 8]> = bounds_of_leaves(boxes)[..leaf_count].iter().enumerate().map(known).collect();
    let below = Buffer::storage(gpu, "below", leaf_count as u64)?;
    below.write(gpu, &known);
    let nodes = Buffer::storage(gpu, "nodes", all as u64)?;
    nodes.write(gpu, &vec![[0u32; NODE_WORDS]; all]);
    let bounds = Buffer::<[f32; 8]>::storage(gpu, "bounds", count as u64)?;
    // No box is said to be invalid, so none is read.
    let boxes_of_tree = Buffer::<Aabb>::storage(gpu, "boxes", 1)?;
    let invalid = Buffer::storage(gpu, "invalid", 8 * leaf_count as u64)?;
    invalid.write(gpu, &vec![0u32; 8 * leaf_count]);
    let summary = Buffer::<TreeSummary>::storage(gpu, "summary", 1)?;
    let level = |level| Buffer::uniform(gpu, "level", &[LevelPass { level, ..LevelPass::zeroed() }]);
    let (lowest, above) = (level(1)?, level(2)?);
    let shape = Buffer::uniform(gpu, "tree", &[shape])?;
    let cube = Buffer::uniform(gpu, "cube", &[cube(boxes)])?;
    let mut encoder = encoder(gpu);
    let mut pass = Pass::begin(gpu, &mut encoder);
    let buffers = [
        ("tree", shape.all()),
        ("level", lowest.all()),
        ("cube", cube.all()),
        ("nodes", nodes.all()),
        ("below", below.all()),
        ("bounds", bounds.all()),
    ];
    Kernel::new(gpu, &LEVELS).dispatch(&mut pass, count.div_ceil(64) as u32, &buffers);
    let buffers = [
        ("tree", shape.all()),
        ("level", above.all()),
        ("cube", cube.all()),
        ("boxes", boxes_of_tree.all()),
        ("nodes", nodes.all()),
        ("below", bounds.all()),
        ("invalid", invalid.all()),
        ("summary", summary.all()),
    ];
    Kernel::new(gpu, &TOP).dispatch(&mut pass, 1, &buffers);
    pass.finish()?;
    drop(pass);
    let words = read(gpu, encoder, &[(nodes.raw(), NODE_WORDS * all)]);
    Ok(as_pairs(&words[NODE_WORDS * leaf_count..]))
}

/// Returns what is right.
pub fn expected(boxes: &[Aabb]) -> Vec<Pair> {
    as_pairs(top(bounds_of_leaves(boxes)).concat().as_flattened())
}
