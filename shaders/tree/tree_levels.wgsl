// tree_levels: the nodes of one level.
//
// Reads   tree
//         level      which one
//         cube       for the unit of surfaces
//         below      [nodes of the level below] what bounds each of them, unless IS_LOWEST
// Changes nodes      reads the boxes of tree_leaves where IS_LOWEST, and writes the nodes of the level
// Writes  bounds     [nodes of the level] what bounds each of them, and about the surface of it and of all nodes under it
// An invocation for each node, which bounds eight children. Bounds are compared as integers; -0 counts as 0.
// Source: Binary Ostensibly-Implicit Trees, Chitalu, Dubach, Komura 2020, which lie without pointers in the same way.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> level: LevelPass;
@group(0) @binding(2) var<uniform> cube: Cube;
@group(0) @binding(3) var<storage, read_write> nodes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> below: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> bounds: array<vec4<u32>>;

// Whether the children are the boxes of a leaf.
override IS_LOWEST: bool = false;

// 2^120 in bits. What is larger counts as infinite, so that no step overflows.
const LARGEST: u32 = (127u + 120u) << 23u;
// 2^-126, the least that is not flushed to zero.
const LEAST_BITS: u32 = 1u << 23u;
// The bounds of a node lie within 250 steps or fewer; with those that rounding adds, there are 254.
const PER_STEP: f32 = 1.0 / 250.0;
// How much smaller than a bound a step may be, in powers of two: then f32 has a bit to spare for any number of steps.
const MOST_STEP_BITS: i32 = 22;

const SIGN_BIT: u32 = 0x80000000u;

// What is known of a child: its bounds, and about the surface of it and of all nodes under it.
struct Child {
    own: BoxBits,
    surface: f32,
}

@compute @workgroup_size(64)
fn tree_levels(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let node = group_index(group, groups) * 64u + local;
    if node >= node_count(level.level) {
        return;
    }
    let found = write_node(node);
    let low = found.own.low;
    let high = found.own.high;
    bounds[2u * node] = vec4<u32>(low, high.x);
    bounds[2u * node + 1u] = vec4<u32>(high.yz, bitcast<u32>(found.surface + surface_of(found.own)), 0u);
}

fn nothing() -> BoxBits {
    return BoxBits(vec3<u32>(INFINITY), vec3<u32>(MINUS_INFINITY));
}

// Returns a child by its number: a box, or a node of the level below.
fn child_at(child: u32) -> Child {
    if IS_LOWEST {
        return Child(box_at(child), 0.0);
    }
    if child >= node_count(level.level - 1u) {
        return Child(nothing(), 0.0);
    }
    let a = below[2u * child];
    let b = below[2u * child + 1u];
    return Child(BoxBits(a.xyz, vec3<u32>(a.w, b.xy)), bitcast<f32>(b.z));
}

// Writes a node, and returns what bounds its children, and the surfaces of these.
fn write_node(node: u32) -> Child {
    // All bounds, and those that are not infinite.
    var all_of_them = nothing();
    var surface = 0.0;
    var first = vec3<f32>(3e38);
    var last = vec3<f32>(-3e38);
    for (var child = 0u; child < 8u; child += 1u) {
        let found = child_at(8u * node + child);
        let own = found.own;
        surface += found.surface;
        if !is_none(own) {
            all_of_them.low = select(all_of_them.low, own.low, ordered(own.low) < ordered(all_of_them.low));
            all_of_them.high = select(all_of_them.high, own.high, ordered(own.high) > ordered(all_of_them.high));
            let low = rounded_down(own.low);
            let high = rounded_up(own.high);
            first = select(min(first, low), first, is_large(own.low));
            last = select(max(last, low), last, is_large(own.low));
            first = select(min(first, high), first, is_large(own.high));
            last = select(max(last, high), last, is_large(own.high));
        }
    }
    let is_finite = first <= last;
    first = select(vec3<f32>(0.0), first, is_finite);
    last = select(vec3<f32>(0.0), last, is_finite);

    let of_extent = exponents(last - first, PER_STEP) + 1;
    let of_place = exponents(max(abs(first), abs(last)), 1.0) - MOST_STEP_BITS;
    let exponent = vec3<u32>(max(max(of_extent, of_place), vec3<i32>(1)));
    let size = bitcast<vec3<f32>>(exponent << vec3<u32>(23u));
    let per_size = bitcast<vec3<f32>>((254u - exponent) << vec3<u32>(23u));
    let origin = steps_down(first, size, per_size) - 1.0;

    var x = vec4<u32>(0u);
    var y = vec4<u32>(0u);
    var z = vec4<u32>(0u);
    var vast = 0u;
    for (var child = 0u; child < 8u; child += 1u) {
        let own = child_at(8u * node + child).own;
        var low = vec3<u32>(ABOVE_ALL);
        var high = vec3<u32>(BELOW_ALL);
        if !is_none(own) {
            low = within(steps_down(rounded_down(own.low), size, per_size) - origin);
            high = within(steps_up(rounded_up(own.high), size, per_size) - origin);
            let is_low = own.low >= vec3<u32>(SIGN_BIT);
            let is_high = own.high < vec3<u32>(SIGN_BIT);
            // No finite bound of the node is farther out than LARGEST, nor is its first step.
            low = select(low, select(vec3<u32>(FIRST_STEP), vec3<u32>(0u), is_low), is_large(own.low));
            high = select(high, select(vec3<u32>(FIRST_STEP), vec3<u32>(255u), is_high), is_large(own.high));
            vast |= select(0u, 1u << child, any(is_large(own.low) | is_large(own.high)));
        }
        x |= in_place(child, low.x, high.x);
        y |= in_place(child, low.y, high.y);
        z |= in_place(child, low.z, high.z);
    }
    let at = (first_node(level.level) + node) * NODE_VECTORS;
    let sizes = exponent.x | (exponent.y << 8u) | (exponent.z << 16u);
    let reach = max(abs(origin), abs(origin + 255.0)) * size;
    vast = select(vast, 0xffu, any(bitcast<vec3<u32>>(reach) > vec3<u32>(USUAL_BITS)));
    nodes[at] = vec4<u32>(bitcast<vec3<u32>>(origin * size), sizes | (vast << 24u));
    nodes[at + 1u] = x;
    nodes[at + 2u] = y;
    nodes[at + 3u] = z;
    return Child(all_of_them, surface);
}

fn is_large(bits: vec3<u32>) -> vec3<bool> {
    return (bits & vec3<u32>(~SIGN_BIT)) > vec3<u32>(LARGEST);
}

// Returns numbers that are not denormal, and no larger.
fn rounded_down(bits: vec3<u32>) -> vec3<f32> {
    let is_tiny = (bits & vec3<u32>(~SIGN_BIT)) < vec3<u32>(LEAST_BITS);
    let below = select(vec3<u32>(0u), vec3<u32>(SIGN_BIT | LEAST_BITS), bits > vec3<u32>(SIGN_BIT));
    return bitcast<vec3<f32>>(select(bits, below, is_tiny));
}

// Returns numbers that are not denormal, and no smaller.
fn rounded_up(bits: vec3<u32>) -> vec3<f32> {
    let is_tiny = (bits & vec3<u32>(~SIGN_BIT)) < vec3<u32>(LEAST_BITS);
    let above = select(vec3<u32>(0u), vec3<u32>(LEAST_BITS), (bits > vec3<u32>(0u)) & (bits < vec3<u32>(SIGN_BIT)));
    return bitcast<vec3<f32>>(select(bits, above, is_tiny));
}

// Returns the exponents of numbers that are not negative, times a factor.
fn exponents(numbers: vec3<f32>, factor: f32) -> vec3<i32> {
    return vec3<i32>(bitcast<vec3<u32>>(numbers * factor) >> vec3<u32>(23u));
}

// Returns the last step, counted from zero, that is not above. What is flushed to zero may be below it.
fn steps_down(x: vec3<f32>, size: vec3<f32>, per_size: vec3<f32>) -> vec3<f32> {
    let steps = floor(x * per_size);
    return select(steps, steps - 1.0, steps * size > x);
}

// Returns the first step, counted from zero, that is not below.
fn steps_up(x: vec3<f32>, size: vec3<f32>, per_size: vec3<f32>) -> vec3<f32> {
    let steps = ceil(x * per_size);
    return select(steps, steps + 1.0, steps * size < x);
}

fn within(steps: vec3<f32>) -> vec3<u32> {
    return vec3<u32>(clamp(steps, vec3<f32>(f32(FIRST_STEP)), vec3<f32>(f32(LAST_STEP))));
}

// Returns the words of an axis with the bounds of one child.
fn in_place(child: u32, low: u32, high: u32) -> vec4<u32> {
    let shift = 8u * (child % 4u);
    let own = vec4<u32>(low, low, high, high) << vec4<u32>(shift);
    let is_second = child >= 4u;
    return select(own, vec4<u32>(0u), vec4<bool>(is_second, !is_second, is_second, !is_second));
}

// Returns about half the surface of a node, in units of the curve; nodes that are not of usual size count for nothing.
fn surface_of(own: BoxBits) -> f32 {
    if class_of(own.low, own.high) != 0u {
        return 0.0;
    }
    let unit = select(1.0, cube.scale / 64.0, cube.scale > 0.0);
    let sides = min((bitcast<vec3<f32>>(own.high) - bitcast<vec3<f32>>(own.low)) * unit, vec3<f32>(1e15));
    return sides.x * sides.y + sides.y * sides.z + sides.z * sides.x;
}
