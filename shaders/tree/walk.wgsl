// Walks a query through the tree. Each level has the set of its waiting children, so nothing can overflow. Shared by
// the kernels that answer queries.
//
// Reads   tree, query
//         nodes      of tree_bottom and tree_top
//         queries    [query_count * u32_count] bits of f32
//         order      [query_count] the queries in the order in which they run
//         ranges, query_filters, filters    (query_filter.wgsl)
//
// The kernels define
//
//   begin_shape(number)      reads a query, and returns whether it is valid
//   IS_RANKED                true if the nearest children are visited first, unless the query is resumed
//   IS_EXACT                 true if undecided boxes are decided at once. If false, the query begins again in another
//                            dispatch, which decides, so that most queries run without that code
//   is_shared()              true if SHARERS invocations share a query: all visit the same nodes, and each visits its
//                            own boxes of every leaf
//   own_boxes                the bits of these boxes, set before the walk
//   Waiting, NONE_WAIT       the type of a set of waiting children, and the empty set (waiting.wgsl, lists.wgsl)
//   waiting_of(bits, seen)   the set of the children with a bit
//   next_of(waiting)         the next child: its number in the lowest three bits, its approximate distance in the upper
//                            half; 0xffff there if there is none
//   without(waiting, next)   the set without this child
//   do_wait(waiting)         true if the set is not empty
//   is_beyond(next)          true if it is proven that neither this child nor any later one of its set is needed
//   see(at)                  the f32 result for the eight children of a node, whose vectors begin at `at`
//   sight_of(box)            the f32 result for a box
//   decide(box)              the exact result for a box that f32 leaves undecided
//   decision_steps()         the most turns of loops of a decision
//   IS_ROUND                 true if shapes are round. Then near_exactly(box, near) tests a box that the bounds meet
//                            once more, and returns its distance or NOT_MET. A dispatch may end at any box, since each
//                            may take hundreds of turns
//   take(place, box, near)   adds a box that the query meets to its answers
//   is_done()                true if the query is answered, or further steps have no use
//
// The steps of a query in one dispatch are limited by `query.budget`, since drivers end long dispatches, and some end
// loops after 65,535 turns in total, without an error. Another dispatch resumes a pending query from a place among the
// leaves on, in the order of places. Or it begins the query again, from the nearest box on (rows.wgsl).

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<storage, read> nodes: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> queries: array<u32>;
@group(0) @binding(4) var<storage, read> order: array<u32>;

// The f32 result for children, a bit per child. No bit is set for a child that the query misses.
struct Seen {
    met: u32,                 // met, or undecided in f32
    vast: u32,                // beyond the range of f32
    near_a: vec4<f32>,        // distances of the first four; undefined if vast
    near_b: vec4<f32>,        // distances of the last four
}

// The f32 result for a box.
struct Sight {
    is_missed: bool,
    is_proven: bool,
    near: f32,                // its distance; -1 if f32 cannot decide
}

// The distance of a box that the query does not meet.
const NOT_MET: f32 = -2.0;

// The waiting children on each level from 1 to WAITING_LEVELS; the last level is at index 0. A root may be one level
// higher, and shares an index with level 1: a walk begins at it when nothing waits on any level.
var<private> waiting_at: array<Waiting, WAITING_LEVELS>;
// The elements are accessed with constant indices, one by one.
const_assert WAITING_LEVELS == 8u;
// The approximate turns of loops of the query so far.
var<private> spent: u32;
var<private> is_ordered: bool;
// True if a needed box is undecided. Then the query begins again.
var<private> is_undecided: bool;
// The resume place of a walk that exceeds the budget; NOWHERE otherwise.
var<private> resumed_at: u32;
// With IS_ROUND, a place to visit first, or NOWHERE.
var<private> first_place: u32;
// A bit per box of a leaf: set if the invocation visits it.
var<private> own_boxes: u32;

// Begins the steps of a dispatch for a query with resume place `left_at`, and returns the first place of the walk.
fn begin_walk(left_at: u32) -> u32 {
    spent = 0u;
    is_undecided = false;
    resumed_at = NOWHERE;
    if IS_ROUND {
        first_place = NOWHERE;
    }
    is_ordered = IS_RANKED && left_at == AGAIN;
    return select(left_at, 0u, left_at == AGAIN);
}

// Visits the boxes in two ranges of places, from place `from_place` on, whose nodes the query meets.
fn walk_ranges(places: vec4<u32>, from_place: u32) {
    for (var k = 0u; k < 2u; k += 1u) {
        var start = max(select(places.x, places.z, k == 1u), from_place);
        var end = select(places.y, places.w, k == 1u);
        if IS_ROUND {
            if first_place != NOWHERE {
                start = first_place;
                end = first_place + 1u;
                first_place = NOWHERE;
                // The range at index k is the next range.
                k -= 1u;
            }
        }
        walk(start, end);
    }
    if is_undecided {
        resumed_at = AGAIN;
    }
}

fn has_flag(flag: u32) -> bool {
    return (query.flags & flag) != 0u;
}

// Visits the boxes in a range of places.
// Longer than 60 lines: its parts would pass six variables of the inner loop through pointers.
fn walk(start: u32, end: u32) {
    if start >= end || resumed_at != NOWHERE || is_done() {
        return;
    }
    let last = end - 1u;
    // Find the lowest level on which at most two nodes cover the range. These are treated as children of a common node.
    // If the range is the whole tree, use the level with one node, so that the nearest box of all comes first.
    let most = select(1u, 0u, start == 0u && end == tree.box_count);
    var top = 1u;
    while (last >> (3u * top)) - (start >> (3u * top)) > most {
        top += 1u;
    }
    var root = start >> (3u * top);
    var level = top;
    var node = root;
    var waiting = NONE_WAIT;
    // A bit per level above: set if children wait on it.
    var levels = 0u;
    // A bit per root: set if it has not been visited.
    var roots = select(1u, 3u, last >> (3u * top) > root);
    // The inner loop finds the next leaf with boxes that the query may meet; the outer loop visits its boxes. With two
    // loops, many invocations of a subgroup test boxes at the same time.
    loop {
        var bits = 0u;
        while bits == 0u {
            // Find the next child: of this node, or on the lowest level above with a needed child.
            var first = next_of(waiting);
            var is_here = !is_beyond(first);
            while !is_here && levels != 0u {
                let up = firstTrailingBit(levels);
                levels &= levels - 1u;
                node >>= 3u * (up - level);
                level = up;
                waiting = waiting_on(up);
                first = next_of(waiting);
                is_here = !is_beyond(first);
                spent += 1u;
            }
            var next = node * 8u + first % 8u;
            waiting = without(waiting, first);
            if !is_here {
                if roots == 0u {
                    return;
                }
                next = root;
                root += 1u;
                roots >>= 1u;
                level = top;
                waiting = NONE_WAIT;
            }
            // In the order of places, all boxes before the next node are done, so the walk can be resumed at this node.
            // In any other order, the walk begins again.
            let place = max(next << (3u * level), start);
            if spent > query.budget && (is_ordered || place > start) {
                resumed_at = select(place, 0u, is_ordered);
                return;
            }
            let_wait(level, waiting);
            levels |= select(0u, 1u << level, do_wait(waiting));
            level -= 1u;
            node = next;
            let seen = see((first_node(level) + node) * NODE_VECTORS);
            bits = (seen.met | seen.vast) & children_between(level, node, start, last);
            spent += 6u;
            waiting = waiting_of(select(0u, bits, level > 0u), seen);
            if IS_EXACT && level > 0u {
                waiting = decided(level, node, waiting, bits & seen.vast);
            }
            bits = select(0u, bits, level == 0u);
        }
        let spent_before = spent;
        look_at_boxes(8u * node, bits & own_boxes, start);
        if is_shared() && (!IS_ROUND || own_boxes != 0xffu) {
            // Charge each invocation the same, so that all sharing invocations end at the same place.
            spent = spent_before + 1u + select(0u, decision_steps(), IS_EXACT) + select(0u, ROUND_STEPS, IS_ROUND);
            if HAS_SPHERES {
                spent += SPHERE_STEPS;
            }
        }
        if is_done() || (IS_ROUND && resumed_at != NOWHERE) {
            return;
        }
    }
}

// Stores the waiting children of a level. It uses constant indices, since dynamically indexed arrays spill to memory.
fn let_wait(level: u32, waiting: Waiting) {
    let at = level % WAITING_LEVELS;
    waiting_at[0] = select(waiting_at[0], waiting, at == 0u);
    waiting_at[1] = select(waiting_at[1], waiting, at == 1u);
    waiting_at[2] = select(waiting_at[2], waiting, at == 2u);
    waiting_at[3] = select(waiting_at[3], waiting, at == 3u);
    waiting_at[4] = select(waiting_at[4], waiting, at == 4u);
    waiting_at[5] = select(waiting_at[5], waiting, at == 5u);
    waiting_at[6] = select(waiting_at[6], waiting, at == 6u);
    waiting_at[7] = select(waiting_at[7], waiting, at == 7u);
}

// Returns the waiting children of a level.
fn waiting_on(level: u32) -> Waiting {
    let is_odd = level % 2u == 1u;
    let of_two = level % 4u >= 2u;
    let low_0 = select(waiting_at[0], waiting_at[1], is_odd);
    let low_1 = select(waiting_at[2], waiting_at[3], is_odd);
    let high_0 = select(waiting_at[4], waiting_at[5], is_odd);
    let high_1 = select(waiting_at[6], waiting_at[7], is_odd);
    return select(select(low_0, low_1, of_two), select(high_0, high_1, of_two), level % WAITING_LEVELS >= 4u);
}

// Returns a bit for each child of a node that has places from `start` to `last`.
fn children_between(level: u32, node: u32, start: u32, last: u32) -> u32 {
    let first = 8u * node;
    let from_child = max(start >> (3u * level), first) - first;
    let to_child = min(last >> (3u * level), first + 7u) - first;
    return (0xffu << from_child) & ((2u << to_child) - 1u);
}

// Returns the waiting children without the vast children that the query does not meet.
fn decided(level: u32, node: u32, children: Waiting, vast: u32) -> Waiting {
    var waiting = children;
    var undecided = vast;
    spent += decision_steps() * countOneBits(undecided);
    while undecided != 0u {
        let child = firstTrailingBit(undecided);
        undecided &= undecided - 1u;
        if !decide(child_of(level, node, child)) {
            waiting = without(waiting, child);
        }
    }
    return waiting;
}

// Returns the bounds of a child of an inner node.
fn child_of(level: u32, node: u32, child: u32) -> BoxBits {
    let at = (first_node(level) + node) * NODE_VECTORS;
    let half = child / 4u;
    let low = vec3<u32>(nodes[at + 1u][half], nodes[at + 2u][half], nodes[at + 3u][half]);
    let high = vec3<u32>(nodes[at + 1u][2u + half], nodes[at + 2u][2u + half], nodes[at + 3u][2u + half]);
    let shift = vec3<u32>(8u * (child % 4u));
    return bounds_of(nodes[at], (low >> shift) & vec3<u32>(0xffu), (high >> shift) & vec3<u32>(0xffu));
}

// Visits the boxes of a leaf whose bit in `candidates` is set, in a walk that began at place `start`.
fn look_at_boxes(first: u32, candidates: u32, start: u32) {
    var bits = candidates;
    while bits != 0u && !is_done() {
        let place = first + firstTrailingBit(bits);
        if IS_ROUND {
            // Invocations that share a query stop together, after a leaf.
            if spent > query.budget && own_boxes == 0xffu && (is_ordered || place > start) {
                resumed_at = select(place, 0u, is_ordered);
                return;
            }
        }
        bits &= bits - 1u;
        spent += 1u;
        let own = box_at(place);
        let sight = sight_of(own);
        var is_met = !sight.is_missed;
        if is_met && !sight.is_proven {
            if IS_EXACT {
                spent += decision_steps();
                is_met = decide(own);
            } else {
                is_undecided = true;
                is_met = false;
            }
        }
        if is_met && (!has_flag(QUERY_GROUPS) || meets(id_at(place))) {
            if IS_ROUND {
                let near = near_exactly(own, sight.near);
                if near != NOT_MET {
                    take(place, own, near);
                }
            } else {
                take(place, own, sight.near);
            }
        }
    }
}
