//! The kinds of queries, and batches of them.

use std::fmt;

use broadsweep::query::NearestQuery;
use broadsweep::{Aabb, Ray};

use crate::scenes::queries::{RayKind, cubes, points};

/// A kind of ray query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RayQueryKind {
    /// The first box that it hits.
    Nearest,
    /// True if it hits a box.
    Any,
    /// The boxes that it hits.
    All,
}

/// A kind of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueryKind {
    /// Rays.
    Rays(RayKind, RayQueryKind),
    /// Boxes, each of which would touch about this many, were they spread evenly.
    Overlaps(u32),
    /// The boxes that are nearest to a point, of this number.
    Nearest(usize),
}

impl QueryKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Rays(RayKind::Camera, RayQueryKind::Nearest),
        Self::Rays(RayKind::Camera, RayQueryKind::Any),
        Self::Rays(RayKind::Camera, RayQueryKind::All),
        Self::Rays(RayKind::Incoherent, RayQueryKind::Nearest),
        Self::Rays(RayKind::Incoherent, RayQueryKind::Any),
        Self::Rays(RayKind::Incoherent, RayQueryKind::All),
        Self::Rays(RayKind::Short, RayQueryKind::Nearest),
        Self::Rays(RayKind::Short, RayQueryKind::Any),
        Self::Rays(RayKind::Short, RayQueryKind::All),
        Self::Overlaps(10),
        Self::Overlaps(100),
        Self::Overlaps(1000),
        Self::Nearest(1),
        Self::Nearest(10),
    ];

    /// Returns how many queries of this kind take about as long as this many rays of a camera.
    pub fn as_many_as(self, rays: usize) -> usize {
        let per_query = match self {
            Self::Rays(_, RayQueryKind::Nearest | RayQueryKind::Any) => 1,
            Self::Rays(_, RayQueryKind::All) | Self::Nearest(_) => 10,
            Self::Overlaps(answers) => answers as usize,
        };
        (rays / per_query).max(1)
    }

    /// Generates this many queries of these boxes.
    pub fn generate(self, count: usize, seed: u64, boxes: &[Aabb]) -> QueryBatch {
        match self {
            Self::Rays(kind, question) => {
                let rays = kind.generate(count, seed, boxes);
                match question {
                    RayQueryKind::Nearest => QueryBatch::NearestHits(rays),
                    RayQueryKind::Any => QueryBatch::AnyHits(rays),
                    RayQueryKind::All => QueryBatch::AllHits(rays),
                }
            }
            Self::Overlaps(answers) => QueryBatch::Overlaps(cubes(count, seed, boxes, answers.into())),
            Self::Nearest(k) => QueryBatch::Nearest(points(count, seed, boxes), k),
        }
    }
}

/// The name to print, without commas.
impl fmt::Display for QueryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Rays(kind, RayQueryKind::Nearest) => format!("{kind} rays nearest hit"),
            Self::Rays(kind, RayQueryKind::Any) => format!("{kind} rays any hit"),
            Self::Rays(kind, RayQueryKind::All) => format!("{kind} rays all hits"),
            Self::Overlaps(answers) => format!("boxes of {answers} answers"),
            Self::Nearest(k) => format!("{k} nearest"),
        };
        f.pad(&name)
    }
}

/// A batch of queries of one kind.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBatch {
    /// The first box that each ray hits.
    NearestHits(Vec<Ray>),
    /// True if each ray hits a box.
    AnyHits(Vec<Ray>),
    /// The boxes that each ray hits.
    AllHits(Vec<Ray>),
    /// The boxes that touch each box.
    Overlaps(Vec<Aabb>),
    /// The boxes nearest to each point, this many.
    Nearest(Vec<NearestQuery>, usize),
}

impl QueryBatch {
    /// Counts the queries.
    pub fn len(&self) -> usize {
        match self {
            Self::NearestHits(rays) | Self::AnyHits(rays) | Self::AllHits(rays) => rays.len(),
            Self::Overlaps(boxes) => boxes.len(),
            Self::Nearest(points, _) => points.len(),
        }
    }

    /// Returns whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Creates a batch of each query alone.
    pub fn one_by_one(&self) -> Vec<Self> {
        match self {
            Self::NearestHits(rays) => rays.iter().map(|ray| Self::NearestHits(vec![*ray])).collect(),
            Self::AnyHits(rays) => rays.iter().map(|ray| Self::AnyHits(vec![*ray])).collect(),
            Self::AllHits(rays) => rays.iter().map(|ray| Self::AllHits(vec![*ray])).collect(),
            Self::Overlaps(boxes) => boxes.iter().map(|aabb| Self::Overlaps(vec![*aabb])).collect(),
            Self::Nearest(points, k) => points.iter().map(|point| Self::Nearest(vec![*point], *k)).collect(),
        }
    }
}
