//! A batch of queries of one kind, with filters.

use bytemuck::{Pod, Zeroable};

use crate::base::setters::setters;
use crate::filters::{CheckedFilters, check_spheres};
use crate::{Error, Filters, GroupRule};

/// Filters of the queries of a batch. A list has one element for each query, in their order; an empty list is not used.
///
/// The filters treat a query like a box with this group, mask, body, world and sphere. A query meets a box of the tree
/// if the [`Filters`] of the tree would accept these two boxes as a pair. A query is neither fixed nor asleep, and is
/// in no list of pairs.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct QueryFilters {
    /// The groups of each query, a bit each. If empty, every query is in all groups.
    pub group: Vec<u32>,
    /// The groups that each query meets, a bit each. If empty, every query meets all groups. Under [`GroupRule::Any`],
    /// the default of the tree, a mask alone excludes no box, since the query is in all groups;
    /// [`meeting`](Self::meeting) sets both.
    pub mask: Vec<u32>,
    /// The body of each query, or [`NO_BODY`](Self::NO_BODY). The query meets neither boxes of this body, nor boxes
    /// whose parent is this body. If the tree has no list of bodies, each box is a separate body with its index as
    /// number.
    pub body: Vec<u32>,
    /// The world of each query, or [`Filters::GLOBAL`] for all worlds.
    pub world: Vec<u32>,
    /// A box that each query ignores, or [`NO_BOX`](Self::NO_BOX).
    pub ignore: Vec<u32>,
    /// The sphere of each query: a finite centre, and a radius of at least zero; an infinite radius means no sphere.
    /// With a sphere, a query meets only boxes whose [`sphere`](Filters::sphere), padded by the margin of the box, has
    /// a point in common with the query's sphere. It meets only half-spaces that its sphere touches. Both tests are
    /// exact. If empty, the spheres of boxes are ignored too. All kinds of queries are filtered in this way. A query
    /// has no margin; add a margin to the radius.
    pub sphere: Vec<[f32; 4]>,
    /// True if all casts of the batch skip boxes that they touch at `t = 0` and separate from. A cast that moves deeper
    /// into a box still hits this box at 0. Use this for a character that stands on several boxes. The character can
    /// leave the boxes or slide along them, but does not fall through.
    ///
    /// A ray or a moving box separates from a box if it moves away from the face of least penetration, or along this
    /// face. If there are several such faces, one suffices. This is decided exactly. A moving sphere or capsule
    /// separates if it does not approach the nearest point of the box, up to rounding. If its segment touches the box,
    /// or its radius is infinite, its bounding box decides. A cast with a zero direction separates from every box. A
    /// cast separates from a half-space if its direction does not point into it. Other queries ignore this field.
    pub skips_separating: bool,
}

setters! {
    QueryFilters {
        with_group: group: Vec<u32>,
        with_mask: mask: Vec<u32>,
        with_body: body: Vec<u32>,
        with_world: world: Vec<u32>,
        with_ignore: ignore: Vec<u32>,
        with_sphere: sphere: Vec<[f32; 4]>,
        with_skips_separating: skips_separating: bool,
    }
}

impl QueryFilters {
    /// The element of [`body`](Self::body) for a query without body, 2³² − 1.
    pub const NO_BODY: u32 = u32::MAX;
    /// The element of [`ignore`](Self::ignore) for a query that ignores no box, 2³² − 1.
    pub const NO_BOX: u32 = u32::MAX;
    /// No filters.
    pub const NONE: &Self = &Self {
        group: Vec::new(),
        mask: Vec::new(),
        body: Vec::new(),
        world: Vec::new(),
        ignore: Vec::new(),
        sphere: Vec::new(),
        skips_separating: false,
    };

    /// Returns filters with which each query meets only boxes whose group has a bit of the query's mask, under both
    /// [group rules](GroupRule). Under [`GroupRule::Any`] the query is in no group, so the masks of boxes are ignored.
    ///
    /// ```
    /// use broadsweep::filter::GroupRule;
    /// use broadsweep::query::{Batch, QueryFilters};
    /// use broadsweep::{Aabb, Error, Filters, Ray, cpu};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let mut tree = cpu::Tree::new();
    /// for rule in [GroupRule::Any, GroupRule::Both] {
    ///     tree.set_filters(Filters::default().with_group(vec![1, 2]).with_rule(rule))?;
    ///     tree.build(&[Aabb::new([1.0; 3], [2.0; 3]), Aabb::new([4.0; 3], [5.0; 3])])?;
    ///     let filters = QueryFilters::meeting(vec![2], rule);
    ///     let hits = tree.nearest_hits(Batch::new(&[Ray::new([0.0; 3], [1.0; 3])]).with_filters(&filters))?;
    ///     assert_eq!(hits[0].index, 1);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn meeting(masks: Vec<u32>, rule: GroupRule) -> Self {
        let group = match rule {
            GroupRule::Any => vec![0; masks.len()],
            GroupRule::Both => Vec::new(),
        };
        Self { group, mask: masks, ..Self::default() }
    }

    /// Checks that each list is empty or has one element per query.
    ///
    /// # Errors
    /// [`Error::QueryFilterLength`]; [`Error::BadFilter`] for an invalid sphere.
    pub(crate) fn check(&self, query_count: usize) -> Result<(), Error> {
        let Self { group, mask, body, world, ignore, sphere, skips_separating: _ } = self;
        let of_u32 = [("group", group), ("mask", mask), ("body", body), ("world", world), ("ignore", ignore)];
        let lengths = of_u32.map(|(list, values)| (list, values.len()));
        for (list, length) in lengths.into_iter().chain([("sphere", sphere.len())]) {
            if length != 0 && length != query_count {
                let (length, query_count) = (length as u64, query_count as u64);
                return Err(Error::QueryFilterLength { list, length, query_count });
            }
        }
        check_spheres("query_filters.sphere", 0, sphere)
    }

    /// Returns the test of query `i` against boxes with these filters.
    pub(crate) fn meeting_of<'a>(&self, i: usize, filters: &'a CheckedFilters) -> Meeting<'a> {
        Meeting { query_filter: self.query_filter(i), sphere: self.sphere.get(i).copied(), filters }
    }

    /// Returns the filters of query `i`.
    pub(crate) fn query_filter(&self, i: usize) -> QueryFilter {
        let of = |list: &[u32]| list.get(i).copied().unwrap_or(u32::MAX);
        QueryFilter {
            group: of(&self.group),
            mask: of(&self.mask),
            body: of(&self.body),
            world: of(&self.world),
            ignore: of(&self.ignore),
        }
    }

    /// Returns whether any list is not empty.
    #[cfg(feature = "gpu")]
    pub(crate) fn has_lists(&self) -> bool {
        !self.passes_all() || !self.world.is_empty()
    }

    /// Returns whether the queries have no filters, except worlds and `skips_separating`.
    pub(crate) fn passes_all(&self) -> bool {
        let Self { group, mask, body, ignore, sphere, .. } = self;
        group.is_empty() && mask.is_empty() && body.is_empty() && ignore.is_empty() && sphere.is_empty()
    }
}

/// A batch of queries of one kind. A slice of queries is a batch without filters.
///
/// ```
/// use broadsweep::query::{Batch, QueryFilters};
/// use broadsweep::Ray;
///
/// let rays = [Ray::new([0.0; 3], [1.0, 0.0, 0.0])];
/// let filters = QueryFilters::default().with_ignore(vec![7]);
/// let batch = Batch::new(&rays).with_filters(&filters);
/// assert_eq!(batch.filters.ignore, [7]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Batch<'a, Q> {
    /// The queries.
    pub queries: &'a [Q],
    /// The filters of the queries.
    pub filters: &'a QueryFilters,
}

impl<'a, Q> Batch<'a, Q> {
    /// Creates a batch without filters.
    pub const fn new(queries: &'a [Q]) -> Self {
        Self { queries, filters: QueryFilters::NONE }
    }

    /// Returns the same batch with these filters.
    #[must_use]
    pub const fn with_filters(self, filters: &'a QueryFilters) -> Self {
        Self { filters, ..self }
    }
}

impl<'a, Q> From<&'a [Q]> for Batch<'a, Q> {
    fn from(queries: &'a [Q]) -> Self {
        Self::new(queries)
    }
}

impl<'a, Q> From<&'a Vec<Q>> for Batch<'a, Q> {
    fn from(queries: &'a Vec<Q>) -> Self {
        queries[..].into()
    }
}

impl<'a, Q, const N: usize> From<&'a [Q; N]> for Batch<'a, Q> {
    fn from(queries: &'a [Q; N]) -> Self {
        queries[..].into()
    }
}

/// The filters of one query: an element of each list of [`QueryFilters`], in the layout of buffers
/// of the device ([`GpuBatch::with_filters`](crate::GpuBatch::with_filters)). 20 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueryFilter {
    /// The groups that the query is in, a bit each; all bits by default.
    pub group: u32,
    /// The groups that it meets, a bit each; all bits by default. Under [`GroupRule::Any`], set `group` to 0 so that
    /// the mask alone decides.
    pub mask: u32,
    /// Its body, or [`QueryFilters::NO_BODY`].
    pub body: u32,
    /// Its world, or [`Filters::GLOBAL`].
    pub world: u32,
    /// A box that it does not meet, or [`QueryFilters::NO_BOX`].
    pub ignore: u32,
}

/// The filters of one query, and the filters of the boxes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting<'a> {
    query_filter: QueryFilter,
    sphere: Option<[f32; 4]>,
    filters: &'a CheckedFilters,
}

impl Meeting<'_> {
    /// Returns the world of the query.
    pub fn world(&self) -> u32 {
        self.query_filter.world
    }

    /// Returns whether the filters accept the query and box `i`, worlds included.
    ///
    /// # Panics
    /// If a list of the filters is not empty, and `i` is beyond its end.
    pub fn meets(&self, i: u32) -> bool {
        self.query_filter.meets(self.filters.filters(), i)
            && self.sphere.is_none_or(|sphere| self.filters.touches_sphere(i, &sphere))
    }
}

impl Default for QueryFilter {
    /// No filters.
    fn default() -> Self {
        let none = u32::MAX;
        Self { group: none, mask: none, body: none, world: none, ignore: none }
    }
}

impl QueryFilter {
    /// Returns whether the filters accept the query and box `i`, with worlds but without spheres.
    ///
    /// # Panics
    /// If a list of the filters is not empty, and `i` is beyond its end.
    fn meets(&self, filters: &Filters, i: u32) -> bool {
        let at = i as usize;
        let group = if filters.group.is_empty() { u32::MAX } else { filters.group[at] };
        let mask = if filters.mask.is_empty() { u32::MAX } else { filters.mask[at] };
        let (query_meets, box_meets) = (self.mask & group != 0, mask & self.group != 0);
        let by_group = match filters.rule {
            GroupRule::Any => query_meets | box_meets,
            GroupRule::Both => query_meets & box_meets,
        };
        let body = if filters.body.is_empty() { i } else { filters.body[at] };
        let is_child = !filters.parent.is_empty() && filters.parent[at] == self.body;
        let by_body = self.body == QueryFilters::NO_BODY || (body != self.body) & !is_child;
        let world = if filters.world.is_empty() { Filters::GLOBAL } else { filters.world[at] };
        let by_world = (world == self.world) | (world == Filters::GLOBAL) | (self.world == Filters::GLOBAL);
        by_group & by_body & by_world & (i != self.ignore)
    }
}
