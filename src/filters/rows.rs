//! The filters by box, a row each. **To add one, add a row here**, and write what it decides in both languages: `keeps` in
//! `src/filters/predicate.rs` and in `shaders/filters/filters.wgsl`. All else follows from the row; only
//! `second` is looked at before a test too, as a bit of footprints.
//!
//! A row is `name: type = default, Variant, with_name;` below its documentation.
//! - `name` is the field of [`Filters`], a list with a value of this type for each box, and its name in errors. In WGSL
//!   the list begins at `filter_layout.name`, which is `ABSENT` where the list is empty.
//! - `type` says how the list is laid out there: `u32` and `f32` take a word per box (read by `of_box`), `bool` a bit
//!   (read by `bit_of`).
//! - `default` is the value of a box in [`BoxFilter`] for which nothing is said.
//! - `Variant` is the variant of [`Attribute`] that changes the list.
//! - `with_name` is the setter of the field.
//!
//! Lists that are `untested` are not read by tests and not laid out for them.

use super::table::filter_table;
use super::{GroupRule, HalfSpace};
use crate::{Aabb, Pair};

filter_table! {
    /// Says of the boxes what their bounds do not. All of it is optional: an empty list is not used, costs no memory and
    /// is not read.
    ///
    /// A list by box has an element for each box of the call, in the order of the input. A pair of boxes that overlap is
    /// reported if every filter keeps it; [`include`](Self::include) overrules them all.
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
            /// Holds the groups that each box is in, a bit each. Where only `mask` is given, every box is in all groups.
            group: u32 = u32::MAX, Group, with_group;
            /// Holds the groups that each box meets, a bit each. Where only `group` is given, every box meets all groups.
            mask: u32 = u32::MAX, Mask, with_mask;
            /// Holds the body that each box belongs to, any number. Boxes of one body never pair. Where only `parent` is
            /// given, every box is a body of its own, with the box's index as its number.
            body: u32 = BoxFilter::OWN_BODY, Body, with_body;
            /// Holds the parent of the body that each box belongs to, or [`NO_PARENT`](Self::NO_PARENT). A box never pairs
            /// with boxes of its body's parent. The list is read box by box: boxes of one body may have different parents.
            parent: u32 = Filters::NO_PARENT, Parent, with_parent;
            /// Holds whether each box is fixed in place. Two fixed boxes never pair.
            fixed: bool = false, Fixed, with_fixed;
            /// Holds whether each box sleeps. Two sleeping boxes never pair.
            sleeping: bool = false, Sleeping, with_sleeping;
            /// Holds whether each box is in the second of two sets. Boxes of one set never pair: what is found is the join of
            /// the two. Where the boxes are swept, those of one set are told apart before they are looked up, by a bit of
            /// their footprints. Queries do not look at this list.
            second: bool = false, Second, with_second;
            /// Holds the world that each box is in, or [`GLOBAL`](Self::GLOBAL). Boxes of different worlds never pair; a
            /// global box meets the boxes of all worlds, and other global ones.
            world: u32 = 0, World, with_world;
        }
        untested {
            /// Holds the length that each box is grown by on every side, in the units of the input, finite and not
            /// negative. Bounds are rounded outward: the largest `f32` that is at most `min - margin`, the smallest that is
            /// at least `max + margin`. Margins come before anything else: a box is invalid where the grown box is.
            margin: f32 = 0.0, Margin, with_margin;
        }
        beside {
            /// Says how `group` and `mask` of two boxes decide.
            rule: GroupRule, with_rule;
            /// Lists pairs that are never reported, in any order, also within a pair; a pair that comes twice counts once.
            exclude: Vec<Pair>, with_exclude;
            /// Holds the most pairs that [`Recorder::record_exclude`](crate::Recorder::record_exclude) puts in place of `exclude`,
            /// out of a buffer of the device, at most 2²⁴; 0 for none. Memory is laid out for them: some 21 bytes each, and 4 for each
            /// box, beside 8 for each world once these come from there. The CPU engine and trees make no use of it.
            exclude_at_most: u32, with_exclude_at_most;
            /// Lists pairs that are always reported, once each, whatever the boxes are and the other filters say: also
            /// where the boxes do not overlap or are invalid, and where the pair is in `exclude`.
            include: Vec<Pair>, with_include;
            /// Lists the boxes that stand for half-spaces, whose bounds are not looked at; at most one half-space for a
            /// box.
            half_spaces: Vec<HalfSpace>, with_half_spaces;
            /// Holds the region that owns the pairs to report: of the pairs that are found, those are reported whose boxes
            /// have an intersection with its lower corner in this box. `None` reports all.
            ///
            /// This is what cuts a scene into *tiles*, each searched by itself, on any machine, without a word between them.
            /// The lower corner of an intersection is one point, and so in one tile, where tiles partition space: **every pair
            /// is reported by one tile, and by no other**. The tile needs the boxes that [overlap](Aabb::overlaps) its
            /// region, touching included: the corner is a point of both boxes. Further boxes change nothing.
            ///
            /// The corner is, on each axis, the larger `min` of the two boxes as they are searched: grown by their margins,
            /// so that it is the grown box that goes to each tile that it overlaps. A half-space is the whole space here; the
            /// box that stands for it goes to every tile. The region is half-open: it has its lower faces, and not its upper ones.
            /// One that ends at infinity has what lies there, unless it begins there too. So regions that share faces and reach
            /// from -∞ to ∞ own every pair, of boxes at infinity too. Where `min` equals `max` on an axis, it owns nothing.
            ///
            /// Pairs of `include` are reported by every search that names them. From step to step, a pair whose corner leaves
            /// the region is lost, and one whose corner enters it is created.
            /// Queries refuse an owner region. [`Aabb::owns`] is this rule for two boxes.
            ///
            /// ```
            /// use broadsweep::{Aabb, Filters, IdPair, Options, cpu};
            ///
            /// let boxes = [0.0f32, 0.5, 1.0, 1.5].map(|x| Aabb::new([x, 0.0, 0.0], [x + 0.75, 1.0, 1.0]));
            /// let mut all = Vec::new();
            /// for (from, to) in [(f32::NEG_INFINITY, 1.0), (1.0, f32::INFINITY)] {
            ///     let mut tile = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
            ///     (tile.min[0], tile.max[0]) = (from, to);
            ///     // What one machine is given: the boxes that touch its tile, and their ids.
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

    /// Says where in a buffer of words each list begins that tests read, or `ABSENT`: `filter_layout` in WGSL.
    pub struct FilterLayout {
        /// `RULE_ANY` or `RULE_BOTH`.
        rule,
        /// `[listed_row_count]` where the listed pairs of each box begin in `listed_others`.
        listed_rows,
        /// The number of these places.
        listed_row_count,
        /// The larger indices of the listed pairs, ascending within a row.
        listed_others,
        /// `[box_count]` bits: set for boxes that stand for half-spaces.
        half_space_bits,
        /// `[half_space_count]` boxes that stand for half-spaces, ascending.
        half_space_boxes,
        /// `[half_space_count * 4]` bits of normal and offset, in the same order.
        half_spaces,
        /// The number of half-spaces.
        half_space_count,
        /// `[6]` the bounds of the owner region, as integers of the order of `f32`: it has the corners with `min <= corner < max`.
        owner,
    }
}
