// The way of a query through the tree, with the children that wait on each level: nothing that could overflow. Shared by the
// kernels that answer queries.
//
// Reads   tree, query
//         nodes      of tree_bottom and tree_top
//         queries    [query_count * u32_count] bits of f32
//         order      [query_count] the queries in the order in which they are answered
//         ranges, query_filters, filters    (query_filter.wgsl)
//
// The kernels have
//
//   begin_shape(number)      reads a query, and returns whether all its numbers have a meaning
//   IS_RANKED                whether the nearest children come first, as long as the query is not resumed
//   IS_EXACT                 whether what f32 leaves undecided is decided; where not, the query begins again in another dispatch, which decides:
//                            so most need not take the code along that does
//   is_shared()              whether SHARERS invocations share a query: all go through the same nodes, and each looks at boxes of its
//                            own of every leaf
//   own_boxes                which these are, set before the walk
//   Waiting, NONE_WAIT       the children of a node that wait, and that there are none (waiting.wgsl, lists.wgsl)
//   waiting_of(bits, seen)   those with a bit
//   next_of(waiting)         which of them comes next: in the lowest three bits its number, and in the upper half about how near
//                            it is; 0xffff there if there is none
//   without(waiting, next)   the others than this one
//   do_wait(waiting)         whether there are any
//   is_beyond(next)          whether it is surely so far, or none, that neither it nor any other that waits there matters
//   see(at)                  the f32 result for the eight children of a node, which begins at `at` among the vectors
//   sight_of(box)            the f32 result for a box
//   decide(box)              whether the query meets a box, where f32 leaves that in doubt
//   decision_steps()         turns of loops that this takes at most
//   IS_ROUND                 whether shapes are round. Then a box that they meet is tested once more: near_exactly(box, near) returns how near it is,
//                            or NOT_MET. A dispatch may end at any box, since each may take hundreds of turns
//   take(place, box, near)   takes a box that the query meets, at a place among the leaves
//   is_done()                whether the query is answered, or there is no use in going on
//
// A query may take no more steps in one dispatch than `query.budget`: drivers end a dispatch that takes long, and some end
// a loop after 65,535 turns of all loops together, without an error. Pending queries are resumed by another dispatch, from a
// place among the leaves on; then the nodes come in the order of their places. Or it begins again from the nearest on (rows.wgsl).

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<storage, read> nodes: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> queries: array<u32>;
@group(0) @binding(4) var<storage, read> order: array<u32>;

// The f32 result for children: a bit for each. Children that the query misses have none.
struct Seen {
    met: u32,                 // met, as far as f32 can decide
    vast: u32,                // beyond the range of f32
    near_a: vec4<f32>,        // how near the first four are; of vast ones it has no meaning
    near_b: vec4<f32>,        // and the others
}

// The f32 result for a box.
struct Sight {
    is_missed: bool,
    is_proven: bool,
    near: f32,                // how near it is; -1 where f32 cannot decide
}

// In place of how near a box is: the query does not meet it.
const NOT_MET: f32 = -2.0;

// The children that wait on each level from 1 to WAITING_LEVELS, of which the last is in place 0. A root may lie one level higher, and
// shares a place with level 1: it begins when nothing waits on any level, and none waits beside it.
var<private> waiting_at: array<Waiting, WAITING_LEVELS>;
// Their places are named one by one.
const_assert WAITING_LEVELS == 8u;
// About how many turns of loops the query took.
var<private> spent: u32;
var<private> is_ordered: bool;
// True if something that matters is undecided: then the query begins again.
var<private> is_undecided: bool;
// Where a walk that takes too long is resumed; NOWHERE as long as it does not.
var<private> resumed_at: u32;
// Where IS_ROUND, a place that is shown first, or NOWHERE.
var<private> first_place: u32;
// The boxes of a leaf that an invocation looks at: a bit for each.
var<private> own_boxes: u32;

// Begins the steps of a dispatch, for a query that was left at a place, and returns the place from which it walks.
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

// Shows the query the boxes in two ranges of places, each with its end, from place `from_place` on, as far as it meets them
// and their nodes.
fn walk_ranges(places: vec4<u32>, from_place: u32) {
    for (var k = 0u; k < 2u; k += 1u) {
        var start = max(select(places.x, places.z, k == 1u), from_place);
        var end = select(places.y, places.w, k == 1u);
        if IS_ROUND {
            if first_place != NOWHERE {
                start = first_place;
                end = first_place + 1u;
                first_place = NOWHERE;
                // The range in its place comes then.
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

// Shows the query the boxes in a range of places.
// Longer than 60 lines: parts of it would pass six variables of the inner loop through pointers.
fn walk(start: u32, end: u32) {
    if start >= end || resumed_at != NOWHERE || is_done() {
        return;
    }
    let last = end - 1u;
    // The lowest level that has the range in at most two nodes, which are as children of a node above; and in one where the
    // range is the whole tree, in order that the nearest of all comes first.
    let most = select(1u, 0u, start == 0u && end == tree.box_count);
    var top = 1u;
    while (last >> (3u * top)) - (start >> (3u * top)) > most {
        top += 1u;
    }
    var root = start >> (3u * top);
    var level = top;
    var node = root;
    var waiting = NONE_WAIT;
    // On which levels above children wait, a bit for each.
    var levels = 0u;
    // True if the first root, and the second, has not been visited.
    var roots = select(1u, 3u, last >> (3u * top) > root);
    // To the next leaf with boxes that may be met, and then to its boxes: two loops, in order that a group of invocations that
    // goes through everything together has many that are at boxes at once.
    loop {
        var bits = 0u;
        while bits == 0u {
            // The next child: here, or on the lowest level above on which a child matters.
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
            // In the order of places, all before the next node are done, and it gets somewhere; in any other, all begin again.
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
            // As many for each, whatever its box is, so that all of them end in one place.
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

// Keeps the children that wait on a level. Each place is named: what is indexed by a number that is found on the way would be memory.
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

// Returns the children that wait on a level.
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

// Returns the children that wait without those that are not met, of the ones that are vast.
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

// Takes the boxes of a leaf that the query meets, of those with a bit, of a walk that began at place `start`.
fn look_at_boxes(first: u32, candidates: u32, start: u32) {
    var bits = candidates;
    while bits != 0u && !is_done() {
        let place = first + firstTrailingBit(bits);
        if IS_ROUND {
            // Invocations that share a query end together, behind a leaf.
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
