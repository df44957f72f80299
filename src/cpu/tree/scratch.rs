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
    /// Of the last query, its point and world, and the squared distance, rounded, of the last box that was requested.
    pub last: Option<([f32; 3], u32, f64)>,
    /// Of the last points, how far the one that had to look farthest looked, squared: to the last box that was requested, or as
    /// far as its radius.
    pub looked: f64,
    pub around: Around,
    /// Rays that go through the tree one by one, although they may go together.
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

/// A number that nodes are tested with, and the nodes that wait.
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
