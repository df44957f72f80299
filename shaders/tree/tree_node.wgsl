// Builds a node from its children. Shared by tree_bottom and tree_top, which have
//
//   child_at(level, child)   a child of a level by its number
//   bounds                   [nodes of a level] two vec4 each: the children of the level above
//
// Bounds are compared as integers; -0 counts as 0.

// 2^120 in bits. Larger numbers count as infinite, so that no step overflows.
const LARGEST: u32 = (127u + 120u) << 23u;
// 2^-126, the least number that is not flushed to zero.
const LEAST_BITS: u32 = 1u << 23u;
// The bounds of a node span at most 250 steps; rounding adds up to four.
const PER_STEP: f32 = 1.0 / 250.0;
// A step is at least 2^-MOST_STEP_BITS times the largest bound, so that f32 has a spare bit for any count of steps.
const MOST_STEP_BITS: i32 = 22;

const SIGN_BIT: u32 = 0x80000000u;

// A child: its bounds, the approximate surface of the child and all nodes under it, and the count of vast boxes under
// it.
struct Child {
    own: BoxBits,
    surface: f32,
    vast_count: u32,
}

// Stores a child while the levels above it are built, two vec4 each.
fn keep(node: u32, found: Child) {
    bounds[2u * node] = vec4<u32>(found.own.low, found.own.high.x);
    bounds[2u * node + 1u] = vec4<u32>(found.own.high.yz, bitcast<u32>(found.surface), found.vast_count);
}

fn no_child() -> Child {
    return Child(nothing(), 0.0, 0u);
}

fn nothing() -> BoxBits {
    return BoxBits(vec3<u32>(INFINITY), vec3<u32>(MINUS_INFINITY));
}

// The union of children: bounds, approximate surface of the children and all nodes under them, count of vast boxes, and
// the least and largest finite bounds.
struct Together {
    own: BoxBits,
    surface: f32,
    vast_count: u32,
    first: vec3<f32>,
    last: vec3<f32>,
}

// The steps of a node along each axis: the place of the first step, the step size, its exponent, and the steps per
// unit.
struct Steps {
    origin: vec3<f32>,
    size: vec3<f32>,
    exponent: vec3<u32>,
    per_size: vec3<f32>,
}

// The words of a node with the bounds of its children along each axis, and a bit per vast child.
struct Packed {
    x: vec4<u32>,
    y: vec4<u32>,
    z: vec4<u32>,
    vast: u32,
}

// Writes a node of a level, and returns it as a child of the next level. An invocation loads the children one after the
// other, and loads them again for their steps, so that it needs few registers.
fn write_node(level: u32, node: u32) -> Child {
    var all = no_children();
    for (var child = 0u; child < 8u; child += 1u) {
        all = with_child(all, child_at(level, 8u * node + child));
    }
    let steps = steps_for(all);
    var words = no_words();
    for (var child = 0u; child < 8u; child += 1u) {
        words = packed(words, child, in_steps(child_at(level, 8u * node + child).own, steps));
    }
    store_node(level, node, steps, words);
    return parent_of(all);
}

fn store_node(level: u32, node: u32, steps: Steps, words: Packed) {
    let at = (first_node(level) + node) * NODE_VECTORS;
    let sizes = steps.exponent.x | (steps.exponent.y << 8u) | (steps.exponent.z << 16u);
    let reach = max(abs(steps.origin), abs(steps.origin + 255.0)) * steps.size;
    let vast = select(words.vast, 0xffu, any(bitcast<vec3<u32>>(reach) > vec3<u32>(USUAL_BITS)));
    nodes[at] = vec4<u32>(bitcast<vec3<u32>>(steps.origin * steps.size), sizes | (vast << 24u));
    nodes[at + 1u] = words.x;
    nodes[at + 2u] = words.y;
    nodes[at + 3u] = words.z;
}

fn no_words() -> Packed {
    return Packed(vec4<u32>(0u), vec4<u32>(0u), vec4<u32>(0u), 0u);
}

fn no_children() -> Together {
    return Together(nothing(), 0.0, 0u, vec3<f32>(3e38), vec3<f32>(-3e38));
}

// Returns the union with a child added.
fn with_child(all: Together, child: Child) -> Together {
    let own = child.own;
    let surface = all.surface + child.surface;
    let vast_count = all.vast_count + child.vast_count;
    if is_none(own) {
        return Together(all.own, surface, vast_count, all.first, all.last);
    }
    let least = select(all.own.low, own.low, ordered(own.low) < ordered(all.own.low));
    let greatest = select(all.own.high, own.high, ordered(own.high) > ordered(all.own.high));
    let low = rounded_down(own.low);
    let high = rounded_up(own.high);
    var first = select(min(all.first, low), all.first, is_large(own.low));
    var last = select(max(all.last, low), all.last, is_large(own.low));
    first = select(min(first, high), first, is_large(own.high));
    last = select(max(last, high), last, is_large(own.high));
    return Together(BoxBits(least, greatest), surface, vast_count, first, last);
}

// Returns the node of these children, as a child of the next level.
fn parent_of(all: Together) -> Child {
    return Child(all.own, all.surface + surface_of(all.own), all.vast_count);
}

// Returns the steps of the node of these children.
fn steps_for(all: Together) -> Steps {
    let is_finite = all.first <= all.last;
    let first = select(vec3<f32>(0.0), all.first, is_finite);
    let last = select(vec3<f32>(0.0), all.last, is_finite);
    let of_extent = exponents(last - first, PER_STEP) + 1;
    let of_place = exponents(max(abs(first), abs(last)), 1.0) - MOST_STEP_BITS;
    let exponent = vec3<u32>(max(max(of_extent, of_place), vec3<i32>(1)));
    let size = bitcast<vec3<f32>>(exponent << vec3<u32>(23u));
    let per_size = bitcast<vec3<f32>>((254u - exponent) << vec3<u32>(23u));
    return Steps(steps_down(first, size, per_size) - 1.0, size, exponent, per_size);
}

// Returns the bounds of a child in steps of its node: along each axis, the lower bound, and the upper bound times 2^8.
// The last component is 1 if the child is vast.
fn in_steps(own: BoxBits, steps: Steps) -> vec4<u32> {
    if is_none(own) {
        return vec4<u32>(vec3<u32>(ABOVE_ALL | (BELOW_ALL << 8u)), 0u);
    }
    let low = within(steps_down(rounded_down(own.low), steps.size, steps.per_size) - steps.origin);
    let high = within(steps_up(rounded_up(own.high), steps.size, steps.per_size) - steps.origin);
    let is_low = own.low >= vec3<u32>(SIGN_BIT);
    let is_high = own.high < vec3<u32>(SIGN_BIT);
    // Finite bounds of the node, and its first step, are within LARGEST.
    let first = select(low, select(vec3<u32>(FIRST_STEP), vec3<u32>(0u), is_low), is_large(own.low));
    let last = select(high, select(vec3<u32>(FIRST_STEP), vec3<u32>(255u), is_high), is_large(own.high));
    return vec4<u32>(first | (last << vec3<u32>(8u)), select(0u, 1u, any(is_large(own.low) | is_large(own.high))));
}

// Returns the words of an axis with the bounds of one child in steps.
fn in_place(child: u32, bounds: u32) -> vec4<u32> {
    let low = (bounds & 0xffu) << (8u * (child % 4u));
    let high = (bounds >> 8u) << (8u * (child % 4u));
    return select(vec4<u32>(low, 0u, high, 0u), vec4<u32>(0u, low, 0u, high), child >= 4u);
}

// Adds the bounds of a child to the words.
fn packed(words: Packed, child: u32, bounds: vec4<u32>) -> Packed {
    return Packed(
        words.x | in_place(child, bounds.x),
        words.y | in_place(child, bounds.y),
        words.z | in_place(child, bounds.z),
        words.vast | (bounds.w << child),
    );
}

fn is_large(bits: vec3<u32>) -> vec3<bool> {
    return (bits & vec3<u32>(~SIGN_BIT)) > vec3<u32>(LARGEST);
}

// Rounds denormals down to normal numbers or zero.
fn rounded_down(bits: vec3<u32>) -> vec3<f32> {
    let is_tiny = (bits & vec3<u32>(~SIGN_BIT)) < vec3<u32>(LEAST_BITS);
    let below = select(vec3<u32>(0u), vec3<u32>(SIGN_BIT | LEAST_BITS), bits > vec3<u32>(SIGN_BIT));
    return bitcast<vec3<f32>>(select(bits, below, is_tiny));
}

// Rounds denormals up to normal numbers or zero.
fn rounded_up(bits: vec3<u32>) -> vec3<f32> {
    let is_tiny = (bits & vec3<u32>(~SIGN_BIT)) < vec3<u32>(LEAST_BITS);
    let above = select(vec3<u32>(0u), vec3<u32>(LEAST_BITS), (bits > vec3<u32>(0u)) & (bits < vec3<u32>(SIGN_BIT)));
    return bitcast<vec3<f32>>(select(bits, above, is_tiny));
}

// Returns the exponents of nonnegative numbers times a factor.
fn exponents(numbers: vec3<f32>, factor: f32) -> vec3<i32> {
    return vec3<i32>(bitcast<vec3<u32>>(numbers * factor) >> vec3<u32>(23u));
}

// Returns the last step, counted from zero, that is not above x. If x is flushed to zero, x may be below the step.
fn steps_down(x: vec3<f32>, size: vec3<f32>, per_size: vec3<f32>) -> vec3<f32> {
    let steps = floor(x * per_size);
    return select(steps, steps - 1.0, steps * size > x);
}

// Returns the first step, counted from zero, that is not below x.
fn steps_up(x: vec3<f32>, size: vec3<f32>, per_size: vec3<f32>) -> vec3<f32> {
    let steps = ceil(x * per_size);
    return select(steps, steps + 1.0, steps * size < x);
}

fn within(steps: vec3<f32>) -> vec3<u32> {
    return vec3<u32>(clamp(steps, vec3<f32>(f32(FIRST_STEP)), vec3<f32>(f32(LAST_STEP))));
}

// Returns about half of the surface of a node, in units of the curve; 0 for nodes of unusual size.
fn surface_of(own: BoxBits) -> f32 {
    if class_of(own.low, own.high) != 0u {
        return 0.0;
    }
    let unit = select(1.0, cube.scale / 64.0, cube.scale > 0.0);
    let sides = min((bitcast<vec3<f32>>(own.high) - bitcast<vec3<f32>>(own.low)) * unit, vec3<f32>(1e15));
    return sides.x * sides.y + sides.y * sides.z + sides.z * sides.x;
}
