//! The memory of a thread that answers queries.

use super::node::Real;
use super::pauses::Pauses;
use super::point_packet::Around;
use super::visit::Ranking;
use super::walk::Stack;

/// The memory of a thread, reused from one query to the next.
#[derive(Debug)]
pub struct Scratch<K> {
    /// The first answers to the query.
    pub ranking: Ranking<K>,
    /// The point and the world of the last query, and the rounded squared distance of its last requested box.
    pub last: Option<([f32; 3], u32, f64)>,
    /// The largest squared distance that a point of the last packet searched: the distance of its last requested box,
    /// or its radius.
    pub looked: f64,
    pub around: Around,
    /// Pauses in which rays walk separately, although they could walk together.
    pub pauses: Pauses,
    pub single: Stack<f32>,
    pub double: Stack<f64>,
}

impl<K> Scratch<K> {
    pub fn new(most: usize) -> Self {
        Self {
            ranking: Ranking::new(most),
            last: None,
            looked: 0.0,
            around: Around::default(),
            pauses: Pauses::default(),
            single: Stack::default(),
            double: Stack::default(),
        }
    }
}

/// A type of numbers for tests of nodes, with its stack of waiting nodes.
pub trait Stacked: Real {
    fn stack<K>(scratch: &mut Scratch<K>) -> (&mut Ranking<K>, &mut Stack<Self>);
}

impl Stacked for f32 {
    fn stack<K>(scratch: &mut Scratch<K>) -> (&mut Ranking<K>, &mut Stack<Self>) {
        (&mut scratch.ranking, &mut scratch.single)
    }
}

impl Stacked for f64 {
    fn stack<K>(scratch: &mut Scratch<K>) -> (&mut Ranking<K>, &mut Stack<Self>) {
        (&mut scratch.ranking, &mut scratch.double)
    }
}
