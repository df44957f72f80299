//! The broad phase of either engine: what a call and a stream have in common.

use broadsweep::{Aabb, BroadPhase, Error, Events, Overlaps, Pair, Report, Step, cpu};

/// Either engine.
pub enum Either {
    /// On the CPU.
    Cpu(Box<cpu::BroadPhase>),
    /// On a GPU.
    Gpu(Box<BroadPhase>),
}

/// Calls either engine; or the tree of either, where `Either` is one.
macro_rules! on {
    ($engine:expr, $name:ident => $call:expr) => {
        match $engine {
            Either::Cpu($name) => $call,
            Either::Gpu($name) => $call,
        }
    };
}

pub(crate) use on;

impl Either {
    /// Finds pairs, and moves the list out.
    pub fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<Overlaps, Error> {
        on!(self, engine => engine.find_pairs(boxes).map(drop).map(|()| engine.take_overlaps()))
    }

    /// Finds the pairs between two sets, and moves the list out.
    pub fn find_pairs_between(&mut self, [first, second]: [&[Aabb]; 2]) -> Result<Overlaps, Error> {
        on!(self, engine => engine.find_pairs_between(first, second).map(drop).map(|()| engine.take_overlaps()))
    }

    /// Finds what began and what ended.
    pub fn find_events(&mut self, step: Step<'_>) -> Result<&Events, Error> {
        on!(self, engine => engine.find_events(step))
    }

    /// Hands the pairs to `each`, piece by piece.
    pub fn stream_pairs<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        on!(self, engine => engine.stream_pairs(boxes, each))
    }
}
