// Computes and writes the half-spaces of shapes, with vectors of three 64-bit numbers in one array. Shared, with
// double.wgsl, by query_turned and query_capsule, which have
//
//   VECTORS       the count of vectors
//   NORMAL        the first number of the normal
//   MOST_PARTS_OF_ONE    the most half-spaces of one shape
//   queries       the output: regions, and the half-spaces behind them

const MINUS_INFINITY: u32 = 0xff800000u;

var<private> numbers: array<vec2<u32>, 3u * VECTORS>;

// Returns the dot product of the vectors that begin at numbers `a` and `b`. With `is_of_sizes`, uses their absolute
// values.
fn dot_of(a: u32, b: u32, is_of_sizes: bool) -> vec2<u32> {
    let significant_bits = vec2<u32>(0xffffffffu, select(0xffffffffu, ~SIGN, is_of_sizes));
    var all = vec2<u32>(0u);
    for (var k = 0u; k < 3u; k += 1u) {
        all = sum(all, product(numbers[a + k], numbers[b + k]) & significant_bits);
    }
    return all;
}

// Returns the largest magnitude of a vector.
fn largest_of(first: u32) -> vec2<u32> {
    var largest = vec2<u32>(0u);
    for (var k = 0u; k < 3u; k += 1u) {
        let own = magnitude(numbers[first + k]);
        largest = select(largest, own, less64(largest, own));
    }
    return largest;
}

// Divides a nonzero vector by its largest component, as f32, in bits.
fn direction_of(first: u32) -> vec3<u32> {
    let largest = largest_of(first);
    var direction = vec3<u32>(0u);
    for (var k = 0u; k < 3u; k += 1u) {
        direction[k] = narrowed(unpacked(quotient(numbers[first + k], largest)), TO_NEAREST);
    }
    return direction;
}

// Returns the cross product of a coordinate axis with a direction.
fn edge_of(direction: vec3<u32>, axis: u32) -> vec3<u32> {
    let minus = direction ^ vec3<u32>(SIGN);
    var edges = array<vec3<u32>, 3>(
        vec3<u32>(0u, minus.z, direction.y),
        vec3<u32>(direction.z, 0u, minus.x),
        vec3<u32>(minus.y, direction.x, 0u),
    );
    return edges[axis];
}

// Stores a normal as the vector at NORMAL.
fn set_normal(normal: vec3<u32>) {
    for (var k = 0u; k < 3u; k += 1u) {
        numbers[NORMAL + k] = widened(normal[k]);
    }
}

// Appends the half-spaces of a normal and of its opposite to the `count` half-spaces of a query, and returns the new
// count. The offsets are increased by the slack for rounding. A half-space with an infinite offset or a zero normal
// excludes nothing, and is omitted.
fn add_parts(number: u32, count: u32, normal: vec3<u32>, offsets: array<vec2<u32>, 2>, slack: vec2<u32>) -> u32 {
    var offset_of_side = offsets;
    var next = count;
    for (var side = 0u; side < 2u; side += 1u) {
        let offset = narrowed_up(unpacked(sum(offset_of_side[side], slack)));
        if (offset & ~SIGN) < INFINITY && any((normal & vec3<u32>(~SIGN)) != vec3<u32>(0u)) {
            let to = query.parts + 4u * (number * MOST_PARTS_OF_ONE + next);
            let own = normal ^ vec3<u32>(select(0u, SIGN, side == 1u));
            queries[to] = own.x;
            queries[to + 1u] = own.y;
            queries[to + 2u] = own.z;
            queries[to + 3u] = offset;
            next += 1u;
        }
    }
    return next;
}

// Writes a region: bounds, and the range of its half-spaces.
fn write_region(number: u32, bounds: array<u32, 6>, count: u32) {
    var bound = bounds;
    let to = number * REGION_U32_COUNT;
    for (var k = 0u; k < 6u; k += 1u) {
        queries[to + k] = bound[k];
    }
    queries[to + 6u] = number * MOST_PARTS_OF_ONE;
    queries[to + 7u] = count;
}

// Writes a region without points, for an invalid query.
fn write_none(number: u32) {
    write_region(number, array<u32, 6>(INFINITY, INFINITY, INFINITY, MINUS_INFINITY, MINUS_INFINITY, MINUS_INFINITY), 0u);
}
