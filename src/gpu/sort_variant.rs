//! The variants of the sort, one of which is best for a device.

/// The way in which the keys of a pass find their places. All variants are stable, so the result is the same, bit for
/// bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SortVariant {
    /// Four bits a pass, 256 invocations with counts of their own: `sort_scatter`. Runs on any device.
    Portable,
    /// Nine bits a pass, or eight where subgroups may have fewer than 16 invocations, counts per subgroup and ballots inside:
    /// `sort_ballot`. Needs [`Gpu::SUBGROUP_FEATURES`](super::Gpu::SUBGROUP_FEATURES) and subgroups of 8 to 64.
    Subgroup,
}

impl SortVariant {
    /// All variants.
    pub const ALL: [Self; 2] = [Self::Portable, Self::Subgroup];
}
