//! A tree on either engine.

use broadsweep::query::{Batch, Cast, Near, NearestQuery, Shape, TreeReport};
use broadsweep::{Aabb, Answers, Error, Filters, Hit, Lists, QueryEngine, Tree, cpu};

/// A tree on either engine.
pub enum AnyTree {
    Cpu(Box<cpu::Tree>),
    Gpu(Box<Tree>),
}

/// Calls the method of the tree that there is.
macro_rules! either {
    ($self:ident, $tree:ident => $call:expr) => {
        match $self {
            Self::Cpu(boxed) => {
                let $tree = boxed.as_mut();
                $call
            }
            Self::Gpu(boxed) => {
                let $tree = boxed.as_mut();
                $call
            }
        }
    };
}

impl AnyTree {
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        either!(self, tree => tree.set_filters(filters))
    }

    pub fn build(&mut self, boxes: &[Aabb]) -> Result<(), Error> {
        either!(self, tree => tree.build(boxes).map(drop))
    }

    pub fn report(&self) -> &TreeReport {
        match self {
            Self::Cpu(tree) => tree.report(),
            Self::Gpu(tree) => tree.report(),
        }
    }

    pub fn nearest_hits<C: Cast>(&mut self, casts: Batch<'_, C>) -> Result<Answers<Hit>, Error> {
        either!(self, tree => QueryEngine::nearest_hits(tree, casts))
    }

    pub fn first_hits<C: Cast>(&mut self, casts: Batch<'_, C>, k: usize) -> Result<Lists<Hit>, Error> {
        either!(self, tree => QueryEngine::first_hits(tree, casts, k))
    }

    pub fn any_hits<C: Cast>(&mut self, casts: Batch<'_, C>) -> Result<Answers<bool>, Error> {
        either!(self, tree => QueryEngine::any_hits(tree, casts))
    }

    pub fn all_hits<C: Cast>(&mut self, casts: Batch<'_, C>) -> Result<Lists<Hit>, Error> {
        either!(self, tree => QueryEngine::all_hits(tree, casts))
    }

    pub fn overlaps<S: Shape>(&mut self, shapes: Batch<'_, S>) -> Result<Lists<u32>, Error> {
        either!(self, tree => QueryEngine::overlaps(tree, shapes))
    }

    pub fn nearest(&mut self, points: Batch<'_, NearestQuery>, k: usize) -> Result<Lists<Near>, Error> {
        either!(self, tree => QueryEngine::nearest(tree, points, k))
    }
}
