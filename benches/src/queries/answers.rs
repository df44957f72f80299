//! The answers of a batch of queries.

#[cfg(feature = "peers")]
use broadsweep::query::NearestQuery;
use broadsweep::query::{Near, QueryReport};
use broadsweep::{Aabb, Hit, Lists, Ray};

/// The answers to a batch, in the order of its queries.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// The first hit of each ray.
    Hits(Vec<Hit>),
    /// True if each ray hits a box.
    Any(Vec<bool>),
    /// The hits of each ray, in any order.
    AllHits(Lists<Hit>),
    /// The boxes that touch each box, in any order.
    Overlaps(Lists<u32>),
    /// The boxes near each point.
    Near(Lists<Near>),
}

impl Answers {
    /// Collects the first hit of each ray.
    pub fn hits(rays: &[Ray], hit: impl FnMut(&Ray) -> Option<Hit>) -> Self {
        Self::Hits(rays.iter().map(hit).map(|hit| hit.unwrap_or(Hit::MISS)).collect())
    }

    /// Collects whether each ray hits a box.
    pub fn any(rays: &[Ray], hits: impl FnMut(&Ray) -> bool) -> Self {
        Self::Any(rays.iter().map(hits).collect())
    }

    /// Collects the hits that `push` appends for each ray.
    pub fn all_hits(rays: &[Ray], push: impl FnMut(&Ray, &mut Vec<Hit>)) -> Self {
        Self::AllHits(lists(rays, push))
    }

    /// Collects the boxes that `push` appends for each box.
    pub fn overlaps(boxes: &[Aabb], push: impl FnMut(&Aabb, &mut Vec<u32>)) -> Self {
        Self::Overlaps(lists(boxes, push))
    }

    /// Collects the boxes that `push` appends for each point.
    #[cfg(feature = "peers")]
    pub fn near(points: &[NearestQuery], push: impl FnMut(&NearestQuery, &mut Vec<Near>)) -> Self {
        Self::Near(lists(points, push))
    }

    /// Counts the answers: boxes that were hit, that touch or that are near.
    pub fn answer_count(&self) -> u64 {
        let count = match self {
            Self::Hits(hits) => hits.iter().filter(|hit| hit.is_hit()).count(),
            Self::Any(any) => any.iter().filter(|&&is_hit| is_hit).count(),
            Self::AllHits(lists) => lists.answers.len(),
            Self::Overlaps(lists) => lists.answers.len(),
            Self::Near(lists) => lists.answers.len(),
        };
        count as u64
    }

    /// Counts the queries that have the same boxes as their answers here and there, in any order, or boxes at the same
    /// distances: of several at one distance, others than us give any.
    pub fn equal_count(&self, other: &Self) -> u64 {
        let count = match (self, other) {
            (Self::Hits(own), Self::Hits(other)) => {
                own.iter().zip(other).filter(|(own, other)| own.index == other.index || own.t == other.t).count()
            }
            (Self::Any(own), Self::Any(other)) => own.iter().zip(other).filter(|(own, other)| own == other).count(),
            (Self::AllHits(own), Self::AllHits(other)) => equal_rows(own, other, |hit| hit.index, |_| None),
            (Self::Overlaps(own), Self::Overlaps(other)) => equal_rows(own, other, |&index| index, |_| None),
            (Self::Near(own), Self::Near(other)) => {
                equal_rows(own, other, |near| near.index, |near| Some(near.squared_distance))
            }
            _ => 0,
        };
        count as u64
    }
}

/// Counts the rows that have the same boxes, or the same distances where there are any.
fn equal_rows<T>(
    own: &Lists<T>,
    other: &Lists<T>,
    index: impl Fn(&T) -> u32,
    distance: impl Fn(&T) -> Option<f32>,
) -> usize {
    let boxes = |row: &[T]| {
        let mut row: Vec<u32> = row.iter().map(&index).collect();
        row.sort_unstable();
        row
    };
    let has_same_distances = |own: &[T], other: &[T]| {
        own.len() == other.len()
            && own.iter().zip(other).all(|(a, b)| distance(a).is_some() && distance(a) == distance(b))
    };
    let is_equal =
        |(own, other): &(&[T], &[T])| boxes(own) == boxes(other) || !own.is_empty() && has_same_distances(own, other);
    own.iter().zip(other.iter()).filter(is_equal).count()
}

fn lists<Q, T>(queries: &[Q], mut push: impl FnMut(&Q, &mut Vec<T>)) -> Lists<T> {
    let (mut offsets, mut answers) = (vec![0], Vec::new());
    for query in queries {
        push(query, &mut answers);
        offsets.push(answers.len() as u64);
    }
    Lists::new(offsets, answers, QueryReport::default())
}
