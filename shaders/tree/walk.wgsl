// The way of a query through the tree, with a word for each level: nothing that could overflow. Shared by the kernels that
// answer queries. They have
//
//   IS_RANKED                whether the nearest children come first, as long as the query is not resumed
//   see(at)                  what f32 says of the eight children of a node, which begins at `at` among the vectors
//   sight_of(box)            what f32 says of a box
//   decide(box)              whether the query meets a box, where f32 leaves that in doubt; in DECISION turns of loops
//   take(place, id, box, near)    takes a box that the query meets, at a place among the leaves
//   is_done()                whether the query is answered
//
// A query may take no more steps in one dispatch than `query.budget`: drivers end a dispatch that takes long, and some end
// a loop after 65,535 turns of all loops together, without a word. What is left is resumed by another dispatch, from a
// place among the leaves on; then the nodes come in the order of their places.

// What f32 says of children: a bit for each. Children that the query misses have none.
struct Seen {
    met: u32,                 // met, as far as f32 can tell
    vast: u32,                // beyond what f32 can tell
    near_a: vec4<f32>,        // how near the first four are; 0 of vast ones
    near_b: vec4<f32>,        // and the others
}

// What f32 says of a box.
struct Sight {
    is_missed: bool,
    is_sure: bool,
    near: f32,                // how near it is; -1 where f32 cannot tell
}

// More levels than any tree has that fits a buffer.
const MOST_LEVELS: u32 = 12u;

// Whether what f32 leaves in doubt is decided; where not, the query begins again in another dispatch, which decides. Most
// queries have no doubts, and need not take the code along that decides.
override IS_EXACT: bool = false;

var<private> waiting_at: array<u32, MOST_LEVELS>;
// About how many turns of loops the query took.
var<private> spent: u32;
var<private> is_ordered: bool;
// Whether f32 left a doubt that matters.
var<private> is_doubtful: bool;
// Where a walk that takes too long is resumed; NOWHERE as long as it does not.
var<private> resumed_at: u32;

// Begins the steps of a dispatch, for a query that was left at a place, and returns the place from which it walks.
fn begin_walk(left_at: u32) -> u32 {
    spent = 0u;
    is_doubtful = false;
    resumed_at = NOWHERE;
    is_ordered = IS_RANKED && left_at == AGAIN;
    return select(left_at, 0u, left_at == AGAIN);
}

// Shows the query the boxes in two ranges of places, each with its end, from place `from_place` on, as far as it meets them
// and their nodes.
fn walk_ranges(places: vec4<u32>, from_place: u32) {
    for (var k = 0u; k < 2u; k += 1u) {
        let start = max(select(places.x, places.z, k == 1u), from_place);
        walk(start, select(places.y, places.w, k == 1u));
    }
}

fn walk(start: u32, end: u32) {
    if start >= end || resumed_at != NOWHERE {
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
    var waiting = 0u;
    // Whether the first root, and the second, is still to be looked at.
    var roots = select(1u, 3u, last >> (3u * top) > root);
    loop {
        // What comes next: cheap steps first, in a loop of their own, since some processors take all invocations of a group
        // through everything in a loop, as often as the slowest of them needs.
        var next = NOWHERE;
        while next == NOWHERE {
            while waiting == 0u && level < top {
                spent += 1u;
                level += 1u;
                node >>= 3u;
                waiting = waiting_at[level];
            }
            spent += 1u;
            if waiting == 0u {
                if roots == 0u {
                    break;
                }
                next = root;
                root += 1u;
                roots >>= 1u;
            } else if is_ordered {
                let child = waiting % 8u;
                waiting >>= 4u;
                // Whether it still matters, a look at it tells at the same cost.
                next = node * 8u + child;
            } else {
                next = node * 8u + firstTrailingBit(waiting);
                waiting &= waiting - 1u;
            }
        }
        if next == NOWHERE {
            return;
        }
        // In the order of places, all before the next node are done, and it gets somewhere; in any other, all begin again.
        let place = max(next << (3u * level), start);
        if spent > query.budget && (is_ordered || place > start) {
            resumed_at = select(place, 0u, is_ordered);
            return;
        }
        waiting_at[level] = waiting;
        level -= 1u;
        node = next;
        waiting = look(level, node, start, last);
        if is_doubtful {
            resumed_at = AGAIN;
            return;
        }
        if is_done() {
            return;
        }
    }
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

// Looks at a node: takes the boxes of a leaf and returns 0, or returns the children of an inner node that wait: a bit for
// each, or eight and its number in four bits for each, the nearest lowest.
fn look(level: u32, node: u32, start: u32, last: u32) -> u32 {
    let seen = see((first_node(level) + node) * NODE_VECTORS);
    let first = 8u * node;
    let from_child = max(start >> (3u * level), first) - first;
    let to_child = min(last >> (3u * level), first + 7u) - first;
    let there = (0xffu << from_child) & ((2u << to_child) - 1u);
    var bits = (seen.met | seen.vast) & there;
    spent += 5u;
    if level == 0u {
        look_at_boxes(first, bits);
        return 0u;
    }
    if IS_EXACT {
        var undecided = bits & seen.vast;
        spent += DECISION * countOneBits(undecided);
        while undecided != 0u {
            let child = firstTrailingBit(undecided);
            undecided &= undecided - 1u;
            if !decide(child_of(level, node, child)) {
                bits ^= 1u << child;
            }
        }
    }
    if is_ordered {
        return in_order(bits, seen);
    }
    return bits;
}

// Takes the boxes of a leaf that the query meets, of those with a bit.
fn look_at_boxes(first: u32, candidates: u32) {
    var bits = candidates;
    while bits != 0u && !is_done() {
        let place = first + firstTrailingBit(bits);
        bits &= bits - 1u;
        spent += 1u;
        let own = box_at(place);
        let sight = sight_of(own);
        var is_met = !sight.is_missed;
        if is_met && !sight.is_sure {
            if !IS_EXACT {
                is_doubtful = true;
                return;
            }
            spent += DECISION;
            is_met = decide(own);
        }
        if is_met {
            let id = id_at(place);
            if meets(id) {
                take(place, id, own, sight.near);
            }
        }
    }
}

// Sorts two keys.
fn sort_two(a: ptr<function, u32>, b: ptr<function, u32>) {
    let smaller = min(*a, *b);
    *b = max(*a, *b);
    *a = smaller;
}

// Lists the children with a bit in four bits each, the nearest lowest. In the lowest bits of how near they are is which
// they are. The sort is a network of 19 exchanges, Knuth, The Art of Computer Programming 3, 5.3.4.
fn in_order(bits: u32, seen: Seen) -> u32 {
    let none = vec4<u32>(0xffffffffu);
    let children = vec4<u32>(0u, 1u, 2u, 3u);
    let is_a = ((vec4<u32>(bits) >> children) & vec4<u32>(1u)) == vec4<u32>(1u);
    let is_b = ((vec4<u32>(bits >> 4u) >> children) & vec4<u32>(1u)) == vec4<u32>(1u);
    let first = select(none, (bitcast<vec4<u32>>(seen.near_a) & vec4<u32>(0x7ffffff8u)) | children, is_a);
    let second = select(none, (bitcast<vec4<u32>>(seen.near_b) & vec4<u32>(0x7ffffff8u)) | (children + 4u), is_b);
    var a = first.x;
    var b = first.y;
    var c = first.z;
    var d = first.w;
    var e = second.x;
    var f = second.y;
    var g = second.z;
    var h = second.w;
    sort_two(&a, &c);
    sort_two(&b, &d);
    sort_two(&e, &g);
    sort_two(&f, &h);
    sort_two(&a, &e);
    sort_two(&b, &f);
    sort_two(&c, &g);
    sort_two(&d, &h);
    sort_two(&a, &b);
    sort_two(&c, &d);
    sort_two(&e, &f);
    sort_two(&g, &h);
    sort_two(&c, &e);
    sort_two(&d, &f);
    sort_two(&b, &e);
    sort_two(&d, &g);
    sort_two(&b, &c);
    sort_two(&d, &e);
    sort_two(&f, &g);
    let nibbles_a = (vec4<u32>(a, b, c, d) % vec4<u32>(8u) + 8u) << (children * 4u);
    let nibbles_b = (vec4<u32>(e, f, g, h) % vec4<u32>(8u) + 8u) << (children * 4u + 16u);
    let all_of_them = (nibbles_a.x | nibbles_a.y | nibbles_a.z | nibbles_a.w)
        | (nibbles_b.x | nibbles_b.y | nibbles_b.z | nibbles_b.w);
    let count = countOneBits(bits);
    return select(all_of_them & ((1u << (4u * count)) - 1u), all_of_them, count == 8u);
}
