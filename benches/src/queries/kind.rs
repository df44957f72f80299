//! What is asked of a scene.

use std::fmt;

use broadsweep::query::NearestQuery;
use broadsweep::{Aabb, Ray};

use crate::scenes::queries::{RayKind, cubes, points};

/// A question about a ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RayQuestion {
    /// Which box it hits first.
    Nearest,
    /// Whether it hits a box.
    Any,
    /// Which boxes it hits.
    All,
}

/// A kind of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Rays.
    Rays(RayKind, RayQuestion),
    /// Boxes, each of which would touch about this many, were they spread evenly.
    Overlaps(u32),
    /// The boxes that are nearest to a point, of this number.
    Nearest(usize),
}

impl Question {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Rays(RayKind::Camera, RayQuestion::Nearest),
        Self::Rays(RayKind::Camera, RayQuestion::Any),
        Self::Rays(RayKind::Camera, RayQuestion::All),
        Self::Rays(RayKind::Incoherent, RayQuestion::Nearest),
        Self::Rays(RayKind::Incoherent, RayQuestion::Any),
        Self::Rays(RayKind::Incoherent, RayQuestion::All),
        Self::Rays(RayKind::Short, RayQuestion::Nearest),
        Self::Rays(RayKind::Short, RayQuestion::Any),
        Self::Rays(RayKind::Short, RayQuestion::All),
        Self::Overlaps(10),
        Self::Overlaps(100),
        Self::Overlaps(1000),
        Self::Nearest(1),
        Self::Nearest(10),
    ];

    /// Returns how many queries of this kind take about as long as this many rays of a camera.
    pub fn as_many_as(self, rays: usize) -> usize {
        let per_query = match self {
            Self::Rays(_, RayQuestion::Nearest | RayQuestion::Any) => 1,
            Self::Rays(_, RayQuestion::All) | Self::Nearest(_) => 10,
            Self::Overlaps(answers) => answers as usize,
        };
        (rays / per_query).max(1)
    }

    /// Makes this many queries to ask of these boxes.
    pub fn ask(self, count: usize, seed: u64, boxes: &[Aabb]) -> Asked {
        match self {
            Self::Rays(kind, question) => {
                let rays = kind.generate(count, seed, boxes);
                match question {
                    RayQuestion::Nearest => Asked::NearestHits(rays),
                    RayQuestion::Any => Asked::AnyHits(rays),
                    RayQuestion::All => Asked::AllHits(rays),
                }
            }
            Self::Overlaps(answers) => Asked::Overlaps(cubes(count, seed, boxes, answers.into())),
            Self::Nearest(k) => Asked::Nearest(points(count, seed, boxes), k),
        }
    }
}

/// The name to print, without commas.
impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Rays(kind, RayQuestion::Nearest) => format!("{kind} rays nearest hit"),
            Self::Rays(kind, RayQuestion::Any) => format!("{kind} rays any hit"),
            Self::Rays(kind, RayQuestion::All) => format!("{kind} rays all hits"),
            Self::Overlaps(answers) => format!("boxes of {answers} answers"),
            Self::Nearest(k) => format!("{k} nearest"),
        };
        f.pad(&name)
    }
}

/// A batch of queries of one kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Which box each ray hits first.
    NearestHits(Vec<Ray>),
    /// Whether each ray hits a box.
    AnyHits(Vec<Ray>),
    /// Which boxes each ray hits.
    AllHits(Vec<Ray>),
    /// Which boxes touch each box.
    Overlaps(Vec<Aabb>),
    /// Which boxes are nearest to each point, of this number.
    Nearest(Vec<NearestQuery>, usize),
}

impl Asked {
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

    /// Makes a batch of each query alone.
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
