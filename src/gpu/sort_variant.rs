//! The variants of the sort.

/// The method that computes the places of keys in a pass of the sort. All variants are stable, so the result is the
/// same, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SortVariant {
    /// Four bits per pass, with counts per invocation: `sort_scatter`. Runs on any device.
    Portable,
    /// Nine bits per pass, or eight if subgroups may have fewer than 16 invocations, with counts per subgroup and
    /// ballots: `sort_ballot`. Needs [`Gpu::SUBGROUP_FEATURES`](super::Gpu::SUBGROUP_FEATURES) and subgroups of 8 to
    /// 64.
    Subgroup,
}

impl SortVariant {
    /// All variants.
    pub const ALL: [Self; 2] = [Self::Portable, Self::Subgroup];
}
