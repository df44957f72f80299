//! Constants of trees and queries.

shared_constants! {
    /// The bits of 2⁶⁰. Path and distance tests in `f32` do not overflow if no coordinate and no speed is larger.
    USUAL_BITS: u32 = (127 + 60) << 23;
    /// The bits of 2⁻⁶⁰: the least speed along an axis with which path tests in `f32` do not overflow.
    SLOW_BITS: u32 = (127 - 60) << 23;
    /// Invocations per workgroup of a kernel that walks a tree: one per query, unless invocations share a query.
    WALKERS: u32 = 64;
    /// The invocations that share one query, if a batch has few queries and requests all answers. There is one
    /// invocation per box of a leaf, so these invocations load a leaf together.
    SHARERS: u32 = 8;
    /// The most half-spaces of a shape that queries a tree. With more half-spaces, a query might make no progress
    /// within the work that drivers allow in one dispatch.
    MOST_PARTS: u32 = 64;
    /// u32 count of a moving box.
    BOX_CAST_U32_COUNT: u32 = 10;
    /// u32 count of a moving round shape: its bounds as a moving box, both ends and the radius. The largest of all
    /// queries.
    ROUND_CAST_U32_COUNT: u32 = 17;
    /// The most planes that bound the time at which a round shape touches a box. Few boxes need more than six. A shape
    /// that barely misses needs one more plane per two bits of precision.
    ROUND_PLANES: u32 = 16;
    /// The most places along a segment that the search for the nearest place compares. Few segments need more than
    /// five. In a bisection, each further place gains one bit.
    ROUND_PLACES: u32 = 20;
    /// The most places that all searches for a box compare together, not counting the first place of each search. This
    /// limit bounds the loops of one decision.
    ROUND_ALL_PLACES: u32 = 48;
    /// 2⁻⁴⁹ bounds the relative rounding error of the height of a round shape above a plane: about ten roundings of
    /// 2⁻⁵³.
    ROUND_GAP_BITS: u32 = 49;
    /// 2⁻⁵⁰ bounds the relative rounding error of the speed of a round shape towards a plane: four roundings.
    ROUND_SPEED_BITS: u32 = 50;
    /// 2⁻⁵¹ is the relative amount by which a quotient is reduced, to round it down.
    ROUND_QUOTIENT_BITS: u32 = 51;
    /// 2⁻²⁸ is a relative difference of times that does not matter in `f32`.
    ROUND_TIME_BITS: u32 = 28;
    /// 2⁻⁵² bounds the difference that rounding alone causes between two places on a segment, relative to its length.
    ROUND_PLACE_BITS: u32 = 52;
    /// Components of a normal below 2⁻¹⁰⁰ count as zero; the largest component is about one.
    ROUND_SMALL_BITS: u32 = 100;
    /// The turns that a test of a round shape against a box takes from the turn budget of a query, if invocations share
    /// a query. Most tests take at most this count.
    ROUND_STEPS: u32 = 64;
    /// Turns charged for an exact comparison of the spheres of a query and a box: four loops of 12 turns each.
    SPHERE_STEPS: u32 = 48;
    /// u32 count of a region: bounds, the index of its first half-space, and the half-space count. The largest of all
    /// shapes.
    REGION_U32_COUNT: u32 = 8;
    /// The most half-spaces that cut out a turned box. There are two along each of the three normals of its faces.
    /// There are two more along each of the nine cross products of its edges and the axes.
    TURNED_PARTS: u32 = 24;
    /// The most half-spaces that cut out a capsule: two along its direction, and two perpendicular to it and to each
    /// axis.
    CAPSULE_PARTS: u32 = 8;
    /// 2⁻⁴⁶ bounds the relative error of a dozen `f64` roundings. With more bits, so with a
    /// smaller bound, a turned box or a capsule may miss a box.
    ROUNDING_BITS: u32 = 46;
    /// 2⁻³⁶ bounds the relative error of values derived from the arms of a turned box: the vectors from its centre to
    /// its faces. The arms have `FLAT_BITS / 2` fewer exact bits than other values.
    SOLID_ROUNDING_BITS: u32 = 36;
    /// If the squared volume of three unit axes is at most 2⁻²⁰, the axes lie nearly in a plane. Then only the faces
    /// cut out a turned box.
    FLAT_BITS: u32 = 20;
    /// The levels above the leaves in the tallest tree that fits a binding; a power of two.
    WAITING_LEVELS: u32 = 8;
    /// The lowest levels, which `tree_bottom` builds.
    BOTTOM_LEVELS: u32 = 3;
    /// Boxes per workgroup of `tree_bottom`: the boxes under one node of its highest level.
    BOTTOM_BOXES: u32 = 512;
    /// Bits of a place along the curve that orders boxes and queries, and of the keys of boxes: three passes of
    /// `sort_ballot`.
    PLACE_BITS: u32 = 27;
    /// Places of the curve along each axis.
    CURVE_SIDE: u32 = 1 << (PLACE_BITS / 3);
    /// The most answers in a row of first answers of a query. If `f32` decides the order of all answers of a row,
    /// the row is sorted by insertion. A query for more answers gets several rows, one after the other.
    ROW: u32 = 64;
    /// In the word of a ranked answer, this bit is set if the distance is proven to be zero. The other bits hold the
    /// box index.
    RANK_ZERO: u32 = 1 << 31;
    /// The most answers per list that the counting kernels retain: an even number. Short lists need no second walk. To
    /// sort a list, an invocation compares one answer with all others.
    RETAINED_ANSWERS: u32 = 32;
    /// Invocations that sort a retained list.
    SORTERS: u32 = 8;
    /// Blocks of 256 queries in a group, whose answer counts are also summed.
    QUERY_GROUP: u32 = 64;
    /// The flag, in a count of answers, of a list that is too long to be retained. The bits below hold the count.
    LONG_LIST: u32 = 1 << 16;
    /// The resume place of a query that is complete.
    NOWHERE: u32 = u32::MAX;
    /// The resume place of a query that starts again at the first place.
    AGAIN: u32 = u32::MAX - 1;
    /// The resume place of an invalid query.
    INVALID_QUERY: u32 = u32::MAX - 2;
    /// `QueryParams::flags`: queries continue from the state of the last dispatch.
    QUERY_RESUMED: u32 = 1;
    /// `QueryParams::flags`: the answers after the last row are requested.
    QUERY_NEXT_ROW: u32 = 2;
    /// `QueryParams::flags`: all answers of each query are requested.
    QUERY_LISTS: u32 = 4;
    /// `QueryParams::flags`: the batch returns for each query whether it has any answer.
    QUERY_ANY: u32 = 8;
    /// `QueryParams::flags`: the dispatch writes the lists that were too long to be retained.
    QUERY_EMITS: u32 = 16;
    /// `QueryParams::flags`: `SHARERS` invocations share a query.
    QUERY_SHARED: u32 = 32;
    /// `QueryParams::flags`: queries have their own filters.
    QUERY_FILTERS: u32 = 64;
    /// `QueryParams::flags`: groups, bodies or a box to ignore select the boxes of a query.
    QUERY_GROUPS: u32 = 128;
    /// `QueryParams::flags`: casts skip boxes that they touch at the start and separate from. The host selects kernels
    /// with `SKIPS_SEPARATING`.
    QUERY_SKIPS_SEPARATING: u32 = 256;
    /// Status of a query: it has all its answers.
    STATUS_ANSWERED: u32 = 0;
    /// Status of a query: a number is invalid.
    STATUS_INVALID: u32 = 1;
    /// Status of a query: it needs more rounds than were recorded.
    STATUS_UNFINISHED: u32 = 2;
    /// `QueryFilters::NO_BOX`.
    NO_BOX: u32 = u32::MAX;
}
