//! Internal items for tests, the laboratory and the command line. There is no stability: a program that uses them may
//! not compile with the next version.

pub mod brute_force {
    //! The oracle.
    pub use crate::cpu::brute_pairs::*;
}
pub mod brute_queries {
    //! Queries without a tree.
    pub use crate::cpu::brute_queries::*;
}
pub mod join {
    //! The methods to join two sets on the CPU.
    pub use crate::cpu::engine::join::Way;
    use crate::{Aabb, Error, Overlaps, cpu};

    /// Does the same as [`cpu::BroadPhase::find_pairs_between`], by the method `way`. Half-spaces need
    /// [`Way::AsOneInput`].
    pub fn by<'a>(
        engine: &'a mut cpu::BroadPhase,
        way: Way,
        first: &[Aabb],
        second: &[Aabb],
    ) -> Result<&'a Overlaps, Error> {
        engine.join_by(way, first, second)
    }
}
pub mod steps {
    //! Steps of few boxes, for tests.
    use crate::cpu;

    /// Lets an engine cache the pairs of padded boxes from this box count on.
    pub fn begin_epochs_from(engine: &mut cpu::BroadPhase, fewest: u32) {
        engine.begin_epochs_from(fewest);
    }
}
pub mod mirror {
    //! The stages on plain slices.
    pub use crate::cpu::mirror::*;
}

pub mod casts {
    //! Moving boxes and round shapes.
    pub use crate::queries::{Entry, Path, Round};
}

pub mod constants {
    //! The constants that the kernels and the host share.
    pub use crate::base::constants::*;
}
#[cfg(feature = "gpu")]
pub mod gpu {
    //! The device, kernels and buffers.
    pub use crate::gpu::*;
}
#[cfg(feature = "gpu")]
pub mod grid {
    //! The stages of the grid.
    pub use crate::grid::*;
}
#[cfg(feature = "gpu")]
pub mod kernels {
    //! The sources of all kernels.
    pub use crate::kernels::*;
}
pub mod layout {
    //! The structures that pass between stages.
    pub use crate::base::layout::*;
}
#[cfg(feature = "gpu")]
pub mod pairs {
    //! The stages of the pairs.
    pub use crate::pairs::*;
}
#[cfg(feature = "gpu")]
pub mod filters {
    //! The filters on the GPU.
    pub use crate::filters::{CheckedFilters, ValueFormat, device, lists, prepare, rows};
}
#[cfg(feature = "gpu")]
pub mod tree {
    //! The stages of trees.
    pub use crate::tree::*;
}
