//! The leaves of each world.

use super::node::WIDTH;
use crate::Filters;

/// The range of leaves of each world. Leaves are in the order of worlds, global boxes last.
#[derive(Debug, Default)]
pub struct Worlds {
    /// Each world and its leaves, ascending by world.
    ranges: Vec<(u32, [u32; 2])>,
    /// The ranges of all places among the leaves: the giants, and the other boxes.
    all: [[u32; 2]; 2],
}

impl Worlds {
    /// Finds the leaves of each world. `worlds` has the world of each box, or is empty.
    pub fn find(&mut self, ids: &[u32], worlds: &[u32], has_giants: bool) {
        self.ranges.clear();
        let first = if has_giants { WIDTH as u32 } else { 0 };
        self.all = [[0, first], [first, ids.len() as u32]];
        if worlds.is_empty() {
            return;
        }
        let mut start = 0;
        for leaves in ids.chunk_by(|&a, &b| worlds[a as usize] == worlds[b as usize]) {
            let end = start + leaves.len() as u32;
            self.ranges.push((worlds[leaves[0] as usize], [start, end]));
            start = end;
        }
        self.ranges.sort_unstable();
    }

    /// Returns the leaves of the boxes that a query of this world may meet.
    pub fn of(&self, world: u32) -> [[u32; 2]; 2] {
        if self.ranges.is_empty() || world == Filters::GLOBAL {
            return self.all;
        }
        [world, Filters::GLOBAL].map(|world| {
            let at = self.ranges.binary_search_by_key(&world, |&(world, _)| world);
            at.map_or([0; 2], |at| self.ranges[at].1)
        })
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<(u32, [u32; 2])>()
    }
}
