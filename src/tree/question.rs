//! The kinds of queries that a tree answers.

/// A kind of queries of a [`Tree`](super::Tree), for [`Tree::compile_ahead`](super::Tree::compile_ahead) and
/// [`Tree::query_memory_plan`](super::Tree::query_memory_plan).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Question {
    /// [`Tree::nearest_hits`](super::Tree::nearest_hits).
    NearestHits,
    /// [`Tree::first_hits`](super::Tree::first_hits).
    FirstHits,
    /// [`Tree::any_hits`](super::Tree::any_hits).
    AnyHits,
    /// [`Tree::all_hits`](super::Tree::all_hits).
    AllHits,
    /// [`Tree::overlaps`](super::Tree::overlaps) of shapes other than spheres.
    Overlaps,
    /// [`Tree::overlaps`](super::Tree::overlaps) of spheres.
    SphereOverlaps,
    /// [`Tree::nearest`](super::Tree::nearest).
    Nearest,
}

impl Question {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::NearestHits,
        Self::FirstHits,
        Self::AnyHits,
        Self::AllHits,
        Self::Overlaps,
        Self::SphereOverlaps,
        Self::Nearest,
    ];
}
