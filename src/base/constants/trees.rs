//! Constants of trees and queries.

shared_constants! {
    /// 2⁶⁰ in bits. Where no coordinate and no speed is larger, nothing overflows that looks along a path or around a point
    /// in `f32`.
    USUAL_BITS: u32 = (127 + 60) << 23;
    /// 2⁻⁶⁰ in bits: the least speed, along an axis, of which the same is true.
    SLOW_BITS: u32 = (127 - 60) << 23;
    /// Invocations of a workgroup of a kernel that walks: one for each query, where they are not shared.
    WALKERS: u32 = 64;
    /// Invocations that share a query for all answers, if there are few queries: one for each box of a leaf, so that a subgroup follows
    /// a fourth to an eighth of the queries, and loads a leaf at once.
    SHARERS: u32 = 8;
    /// The most half-spaces of a shape that queries a tree: a query has to get on within the work that drivers let one
    /// dispatch do.
    MOST_PARTS: u32 = 64;
    /// Words of a box that moves.
    BOX_CAST_U32_COUNT: u32 = 10;
    /// Words of a round shape that moves: its bounds, as a box that moves, both ends and the radius. No other query has as many.
    ROUND_CAST_U32_COUNT: u32 = 17;
    /// The most planes that bound when a round shape touches a box. Few boxes need more than six; a shape that barely misses needs one
    /// for each two bits by which it misses.
    ROUND_PLANES: u32 = 16;
    /// The most places along a segment that are compared for the nearest one. Few need more than five; where bisection has to help,
    /// each place more holds one bit.
    ROUND_PLACES: u32 = 20;
    /// The same, beside the first, for all planes of a box together: bounds the loops of one decision.
    ROUND_ALL_PLACES: u32 = 48;
    /// 2 to the minus this is more than the roundings of how far a round shape is above a plane change, relative to the sizes of what is
    /// added: some ten of 2⁻⁵³.
    ROUND_GAP_BITS: u32 = 49;
    /// The same, of how fast it comes closer: four.
    ROUND_SPEED_BITS: u32 = 50;
    /// A quotient is rounded down by 2 to the minus this.
    ROUND_QUOTIENT_BITS: u32 = 51;
    /// Relative differences of times of 2 to the minus this show in no `f32`.
    ROUND_TIME_BITS: u32 = 28;
    /// Differences of places along a segment, as parts of it, of 2 to the minus this are rounding alone.
    ROUND_PLACE_BITS: u32 = 52;
    /// Parts of a normal below 2 to the minus this, where the largest is about one, are zero.
    ROUND_SMALL_BITS: u32 = 100;
    /// Turns of loops that are charged for whether a round shape touches a box, where invocations share a query: about as many as most boxes take.
    ROUND_STEPS: u32 = 64;
    /// Turns of loops in which the spheres of a query and a box are compared without rounding: 12, of four loops and steps each.
    SPHERE_STEPS: u32 = 48;
    /// Words of a region: bounds, the number of its first half-space, and how many there are. No other shape has as many.
    REGION_U32_COUNT: u32 = 8;
    /// The most half-spaces that cut out a box that is turned: two along each of three normals and nine edges.
    TURNED_PARTS: u32 = 24;
    /// The most half-spaces that cut out a capsule: two along its direction, and across it and each axis.
    CAPSULE_PARTS: u32 = 8;
    /// 2 to the minus this is more than a dozen roundings of `f64` change, relative to the sizes of what is added. With a higher
    /// value a turned box or a capsule may miss a box.
    ROUNDING_BITS: u32 = 46;
    /// The same, of what rests on the arms of a turned box, which are known less well: `FLAT_BITS / 2` bits.
    SOLID_ROUNDING_BITS: u32 = 36;
    /// Axes lie so nearly in a plane that only faces cut out a turned box where their volume, squared, is no more than 2 to the minus
    /// this, for axes of unit length.
    FLAT_BITS: u32 = 20;
    /// The levels above the leaves of the tallest tree that fits a binding; a power of two.
    WAITING_LEVELS: u32 = 8;
    /// The lowest levels, which `tree_bottom` makes.
    BOTTOM_LEVELS: u32 = 3;
    /// Boxes of a workgroup of `tree_bottom`: those under a node of the highest of these levels.
    BOTTOM_BOXES: u32 = 512;
    /// Bits of a place along the curve that boxes and queries are ordered by, and of the keys of boxes: as many as `sort_ballot` takes in
    /// three passes.
    PLACE_BITS: u32 = 27;
    /// Places of the curve along each axis.
    CURVE_SIDE: u32 = 1 << (PLACE_BITS / 3);
    /// The most answers in a row of the first answers of a query. If all is decided it stays sorted: each goes to its place past
    /// those behind it. A query that requests more gets one row after the other.
    ROW: u32 = 64;
    /// In the rank of an answer in a row: it is proven to be at zero, and the number of its box takes the other bits.
    RANK_ZERO: u32 = 1 << 31;
    /// The answers of a list that the kernels which count keep, so that no list of so few is looked for twice; even. Each invocation
    /// that puts one of them in order compares it with the others.
    RETAINED_ANSWERS: u32 = 32;
    /// Invocations that put such a list in order.
    SORTERS: u32 = 8;
    /// Blocks of 256 queries whose answers are also summed.
    QUERY_GROUP: u32 = 64;
    /// Stands in the upper half of a number of answers for a list that is longer; answers take the bits below.
    LONG_LIST: u32 = 1 << 16;
    /// In place of the place among the leaves from which a query is resumed: nothing is left of it.
    NOWHERE: u32 = u32::MAX;
    /// The same: it begins again at the first place, in any order.
    AGAIN: u32 = u32::MAX - 1;
    /// The same: it has no meaning.
    INVALID_QUERY: u32 = u32::MAX - 2;
    /// `QueryParams::flags`: queries go on from where the last dispatch left them.
    QUERY_RESUMED: u32 = 1;
    /// The answers behind those of the last row are requested.
    QUERY_NEXT_ROW: u32 = 2;
    /// All answers of each query are requested.
    QUERY_LISTS: u32 = 4;
    /// The batch is whether each query has any answer.
    QUERY_ANY: u32 = 8;
    /// Lists are written that were too long to be retained when they were counted.
    QUERY_EMITS: u32 = 16;
    /// `SHARERS` invocations share a query.
    QUERY_SHARED: u32 = 32;
    /// Queries have filters of their own.
    QUERY_FILTERS: u32 = 64;
    /// True if a query meets a box depends on groups, bodies or a box to ignore.
    QUERY_GROUPS: u32 = 128;
    /// Casts skip what they separate from at their start: the host selects kernels with `SKIPS_SEPARATING`.
    QUERY_SKIPS_SEPARATING: u32 = 256;
    /// Status of a query: it has all its answers.
    STATUS_ANSWERED: u32 = 0;
    /// Status of a query: a number is invalid.
    STATUS_INVALID: u32 = 1;
    /// Status of a query: it took more rounds than were recorded.
    STATUS_UNFINISHED: u32 = 2;
    /// `QueryFilters::NO_BOX`.
    NO_BOX: u32 = u32::MAX;
}
