//! Queries side by side: the queries, the structures that answer them, and the times.
//!
//! A [`QueryKind`] generates queries of a scene; [`QueryBatch`] is a batch of them, and [`Answers`] its answers. An
//! [`Answerer`] is what answers: our trees, the structures of the literature, and `peers`, other libraries behind the
//! feature of that name. [`race`] times all of them in turn, and [`each`] every query by itself.

mod answers;
mod baselines;
pub mod each;
mod kind;
mod ours;
#[cfg(feature = "peers")]
mod peers;
pub mod race;

pub use answers::Answers;
pub use kind::{QueryBatch, QueryKind, RayQueryKind};

use anyhow::Result;
use broadsweep::{Aabb, Gpu, Tree, cpu};

/// A structure that is built of boxes and answers queries.
pub trait Answerer {
    /// Builds the structure anew. Queries answer with the indices of these boxes.
    ///
    /// # Errors
    /// If the boxes are not what the structure can take.
    fn build(&mut self, boxes: &[Aabb]) -> Result<()>;

    /// Answers a batch; returns `None` for queries of a kind that the structure does not know.
    ///
    /// # Errors
    /// If the structure fails.
    fn answer(&mut self, batch: &QueryBatch) -> Result<Option<Answers>>;
}

/// The listing of an answerer.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// The name to type and to print.
    pub name: &'static str,
    /// The description, in a line.
    pub description: &'static str,
    make: Make,
}

#[derive(Clone, Copy, Debug)]
enum Make {
    OnGpu,
    OnCpu(fn() -> Box<dyn Answerer>),
}

/// Every answerer. The first is the one that others are compared with.
pub const ALL: &[Listing] = &[
    Listing::on_cpu("cpu", "our tree on the CPU", || Box::new(ours::Ours(cpu::Tree::new()))),
    Listing { name: GPU, description: "our tree on the GPU", make: Make::OnGpu },
    Listing::on_cpu("aabb_tree", "a dynamic tree of boxes, split at medians", || {
        Box::new(baselines::DynamicTree::default())
    }),
    Listing::on_cpu("ray_grid", "a uniform grid that rays walk through", || Box::new(baselines::Grid::default())),
    #[cfg(feature = "peers")]
    Listing::on_cpu("parry", "parry3d's binary tree, built by binned surface area", || {
        Box::new(peers::parry::Parry::default())
    }),
    #[cfg(feature = "peers")]
    Listing::on_cpu("bvh", "bvh's binary tree, built by surface area in buckets", || {
        Box::new(peers::bvh::Bvh::default())
    }),
    #[cfg(feature = "peers")]
    Listing::on_cpu("obvhs", "obvhs' binary tree, built by clustering neighbours (PLOC) and reinsertion", || {
        Box::new(peers::obvhs::Obvhs::default())
    }),
    #[cfg(feature = "peers")]
    Listing::on_cpu("rstar", "rstar's R*-tree, loaded in bulk", || Box::new(peers::rstar::Rstar::default())),
];

/// The name of the tree on the GPU.
pub const GPU: &str = "gpu";

impl Listing {
    const fn on_cpu(name: &'static str, description: &'static str, make: fn() -> Box<dyn Answerer>) -> Self {
        Self { name, description, make: Make::OnCpu(make) }
    }

    /// Creates the answerer, which has no boxes yet; returns `None` for the GPU where there is none.
    ///
    /// # Errors
    /// If the GPU cannot be used.
    pub fn make(&self, gpu: Option<&Gpu>) -> Result<Option<Box<dyn Answerer>>> {
        match (self.make, gpu) {
            (Make::OnCpu(make), _) => Ok(Some(make())),
            (Make::OnGpu, Some(gpu)) => Ok(Some(Box::new(ours::Ours(Tree::new(gpu)?)))),
            (Make::OnGpu, None) => Ok(None),
        }
    }
}

/// Finds the answerer of this name.
pub fn by_name(name: &str) -> Option<&'static Listing> {
    ALL.iter().find(|listing| listing.name == name)
}

#[cfg(test)]
mod tests;
