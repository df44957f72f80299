//! The table of the filters by box, one row per filter. **To add a filter, add a row here**, and write its rule in both
//! languages: in `passes` of `src/filters/predicate.rs` and of `shaders/filters/filters.wgsl`. Macros generate the
//! rest. Only `second` is also tested earlier, as a bit of footprints.
//!
//! A row is `name: type as type_of_one = default, Variant, with_name;` below its documentation.
//! - `name` is the field of [`Filters`], and its name in errors. The field is a list with a value of type `type` for
//!   each box. In WGSL the list begins at `filter_layout.name`, which is `ABSENT` if the list is empty.
//! - `type` determines the layout in WGSL: `u32` and `f32` take 4 bytes per box (read by `of_box`), `[f32; 4]` takes
//!   16, `bool` a bit (read by `bit_of`).
//! - `type_of_one` is the type of the value in [`BoxFilter`]: `type`, or an `Option` if 2³² − 1 or an infinite radius
//!   stands for `None`. A row of `untested` has no such type.
//! - `default` is the value in the default [`BoxFilter`].
//! - `Variant` is the variant of [`Attribute`] that changes the list.
//! - `with_name` is the setter of the field.
//!
//! Kernels that test pairs do not read the `untested` lists.

use super::table::filter_table;
use super::{GroupRule, HalfSpace};
use crate::{Aabb, Pair};

filter_table! {
    /// Rules that exclude or include pairs, and properties of boxes other than their bounds. All lists are optional: an
    /// empty list costs no memory and no time.
    ///
    /// A list by box has an element for each box of the call, in the order of the input. An overlapping pair is
    /// reported if every filter accepts it; [`include`](Self::include) overrules all of them.
    ///
    /// ```
    /// use broadsweep::{Aabb, Filters, Options, Pair, cpu};
    ///
    /// let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 3];
    /// let mut broad_phase = cpu::BroadPhase::new(Options::default())?;
    /// let filters = Filters::default().with_body(vec![7, 7, 8]).with_exclude(vec![Pair::new(2, 1)]);
    /// broad_phase.set_filters(filters)?;
    /// assert_eq!(broad_phase.find_pairs(&boxes)?.pairs, [Pair { a: 0, b: 2 }]);
    /// # Ok::<(), broadsweep::Error>(())
    /// ```
    pub struct Filters {
        tested {
            /// The groups of each box, a bit each. If only `mask` is set, each box is in all groups.
            group: u32 as u32 = u32::MAX, Group, with_group;
            /// The groups that each box meets, a bit each. If only `group` is set, every box meets all groups.
            mask: u32 as u32 = u32::MAX, Mask, with_mask;
            /// The body of each box, any number. Boxes of the same body are never a pair. For a box without a body, use
            /// a number that no other box has. If only `parent` is set, each box is a separate body, and its index is
            /// the body number.
            body: u32 as Option<u32> = None, Body, with_body;
            /// The body number of the parent of each box, or [`NO_PARENT`](Self::NO_PARENT). A box is never a pair with
            /// boxes of its parent. Boxes of the same body may have different parents.
            parent: u32 as Option<u32> = None, Parent, with_parent;
            /// `true` for boxes that are fixed in place. Two fixed boxes are never a pair.
            fixed: bool as bool = false, Fixed, with_fixed;
            /// `true` for boxes that sleep. Two sleeping boxes are never a pair. [Steps](crate::Events) ignore this
            /// list, except in `persisting`.
            sleeping: bool as bool = false, Sleeping, with_sleeping;
            /// `true` for boxes in the second of two sets. Boxes of the same set are never a pair, so the result is the
            /// join of both sets. A sweep compares the sets by a bit of the footprints, before it reads the boxes.
            /// Queries ignore this list.
            second: bool as bool = false, Second, with_second;
            /// The world of each box, or [`GLOBAL`](Self::GLOBAL). Boxes of different worlds are never a pair. A global
            /// box meets the boxes of all worlds, and other global boxes.
            world: u32 as Option<u32> = Some(0), World, with_world;
            /// The sphere of each box: a finite centre, and a radius of at least zero; an infinite radius means no
            /// sphere. A pair is reported only if the spheres also have a point in common. The test is exact, and
            /// spheres that touch are a pair. A box should contain its sphere, since both are tested. A box that stands
            /// for a half-space has no sphere: it is a pair with the boxes whose spheres touch the half-space. A margin
            /// pads the sphere too: the radius becomes the smallest `f32` that is at least `radius + margin`. Cost: 16
            /// bytes per box, on the host and on the GPU. A query of a tree tests the spheres of boxes only if the
            /// query has a sphere ([`QueryFilters::sphere`](crate::QueryFilters::sphere)).
            ///
            /// Source: the second filter of MuJoCo's broad phase, `mj_filterSphere`.
            sphere: [f32; 4] as Option<[f32; 4]> = None, Sphere, with_sphere;
        }
        untested {
            /// The length by which each box is padded on every side, in the units of the input, finite and not
            /// negative. Bounds are rounded outward. The lower bound becomes the largest `f32` that is at most
            /// `min - margin`. The upper bound becomes the smallest `f32` that is at least `max + margin`. Margins
            /// apply first: a box is invalid if its padded box is invalid.
            margin: f32 = 0.0, Margin, with_margin;
        }
        beside {
            /// The rule that combines `group` and `mask` of two boxes. Default:
            /// [`GroupRule::Any`](crate::filter::GroupRule::Any).
            rule: GroupRule, with_rule;
            /// Pairs that are never reported. The pairs can have any order and can repeat; the two indices of a pair
            /// can have any order. Cost: 4 bytes of GPU memory per distinct pair, and 4 per box.
            /// [`pairs_that_share_a_vertex`](crate::filter::pairs_that_share_a_vertex) lists the adjacent triangles of
            /// a mesh.
            exclude: Vec<Pair>, with_exclude;
            /// The most pairs that [`Recorder::record_exclude`](crate::Recorder::record_exclude) can read from a buffer
            /// of the device, in place of `exclude`: 0 to 2²⁴. Memory: about 21 bytes per pair and 4 per box, and 8 per
            /// world if worlds come from the device too. The CPU engine and trees ignore this field.
            exclude_at_most: u32, with_exclude_at_most;
            /// Pairs that are always reported, each once, even if the boxes do not overlap or are invalid, or if
            /// another filter rejects the pair.
            include: Vec<Pair>, with_include;
            /// The boxes that stand for half-spaces. Their bounds are ignored. At most one half-space per
            /// box.
            half_spaces: Vec<HalfSpace>, with_half_spaces;
            /// The region that owns the reported pairs. A pair is reported if the lower corner of the intersection of
            /// its boxes lies in this region. `None` reports all pairs.
            ///
            /// Owner regions cut a scene into *tiles*. Each tile is searched separately, on any machine, without
            /// communication. The lower corner of an intersection is one point. If tiles partition space, this point
            /// lies in one tile: **every pair is reported by exactly one tile**. A tile needs all boxes that
            /// [overlap](Aabb::overlaps) its region or touch it, since the corner is a point of both boxes. Further
            /// boxes do not change the pairs of the tile.
            ///
            /// On each axis, the corner is the larger `min` of the two prepared boxes. With margins, send each box to
            /// all tiles that its padded box overlaps. A half-space counts as the whole space: send its box to every
            /// tile. The region is half-open: it contains its lower faces, but not its upper faces. A region that ends
            /// at infinity contains corners at infinity, unless it begins at infinity too. So regions that share faces
            /// and reach from -∞ to ∞ own every pair, including pairs of boxes at infinity. If `min` equals `max` on an
            /// axis, the region owns no pair.
            ///
            /// Every search reports all pairs of its `include` list, in any region. From step to step, a pair is lost
            /// if its corner leaves the region, and created if its corner enters. Queries refuse an owner region.
            /// [`Aabb::owns`] is this rule for two boxes.
            ///
            /// ```
            /// use broadsweep::{Aabb, Filters, IdPair, Options, cpu};
            ///
            /// let boxes = [0.0f32, 0.5, 1.0, 1.5].map(|x| Aabb::new([x, 0.0, 0.0], [x + 0.75, 1.0, 1.0]));
            /// let mut all = Vec::new();
            /// for (from, to) in [(f32::NEG_INFINITY, 1.0), (1.0, f32::INFINITY)] {
            ///     let mut tile = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
            ///     (tile.min[0], tile.max[0]) = (from, to);
            ///     // The input of one machine: the boxes that touch its tile, and their ids.
            ///     let ids: Vec<u64> = (0..4).filter(|&id| boxes[id as usize].overlaps(&tile)).collect();
            ///     let inside: Vec<Aabb> = ids.iter().map(|&id| boxes[id as usize]).collect();
            ///     let mut broad_phase = cpu::BroadPhase::new(Options::default())?;
            ///     broad_phase.set_filters(Filters::default().with_owner(Some(tile)))?;
            ///     IdPair::append(&broad_phase.find_pairs(&inside)?.pairs, &ids, &mut all)?;
            /// }
            /// assert_eq!(all, [IdPair::new(0, 1), IdPair::new(1, 2), IdPair::new(2, 3)]);
            /// # Ok::<(), broadsweep::Error>(())
            /// ```
            owner: Option<Aabb>, with_owner;
        }
    }

    /// The start of each list that tests read, in the buffer of all lists; `ABSENT` for an empty list. In WGSL:
    /// `filter_layout`.
    pub struct FilterLayout {
        /// `RULE_ANY` or `RULE_BOTH`.
        rule,
        /// `[listed_row_count]` the start of each box's listed pairs in `listed_others`.
        listed_rows,
        /// The count of starts in `listed_rows`.
        listed_row_count,
        /// The larger indices of the listed pairs, ascending within a row.
        listed_others,
        /// `[box_count]` bits: set if a box stands for a half-space.
        half_space_bits,
        /// `[half_space_count]` boxes that stand for half-spaces, ascending.
        half_space_boxes,
        /// `[half_space_count * 4]` bits of normal and offset, in the order of `half_space_boxes`.
        half_spaces,
        /// The count of half-spaces.
        half_space_count,
        /// `[6]` the bounds of the owner region, as integers with the order of `f32`. The region contains corners with
        /// `min <= corner < max`.
        owner,
    }
}
