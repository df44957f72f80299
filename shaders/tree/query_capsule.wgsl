// query_capsule: converts capsules to bounds and half-spaces.
//
// Reads   query
//         external_queries [query_count * 7] bits of f32: both ends, the radius
// Writes  queries    [query_count * 8] regions: bounds, the index of the first half-space, the count; from word `parts`
//                    on, eight half-spaces for each query: normal and offset
//
// One invocation per query. The twin of `Capsule` in src/queries/shapes.rs, with the same 64-bit numbers.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read> external_queries: array<u32>;
@group(0) @binding(2) var<storage, read_write> queries: array<u32>;

const MOST_PARTS_OF_ONE: u32 = CAPSULE_PARTS;
const CAPSULE_U32_COUNT: u32 = 7u;
// The first numbers of vectors: the ends, the magnitudes of intermediate results, and the normal.
const FROM: u32 = 0u;
const TO: u32 = 3u;
const SIZES: u32 = 6u;
const NORMAL: u32 = 9u;
const VECTORS: u32 = 4u;

@compute @workgroup_size(64)
fn query_capsule(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let number = group_index(group, groups) * 64u + local;
    if number >= query.query_count {
        return;
    }
    let at = number * CAPSULE_U32_COUNT;
    let one = vec3<u32>(external_queries[at], external_queries[at + 1u], external_queries[at + 2u]);
    let other = vec3<u32>(external_queries[at + 3u], external_queries[at + 4u], external_queries[at + 5u]);
    let radius = external_queries[at + 6u];
    if !(are_finite(one) && are_finite(other) && is_radius(radius) && radius != INFINITY) {
        write_none(number);
        return;
    }
    let thick = widened(radius);
    for (var k = 0u; k < 3u; k += 1u) {
        let a = widened(one[k]);
        let b = widened(other[k]);
        numbers[FROM + k] = a;
        numbers[TO + k] = b;
        let is_more = less64(magnitude(a), magnitude(b));
        numbers[SIZES + k] = sum(select(magnitude(a), magnitude(b), is_more), thick);
        // Temporarily, the vector from end to end.
        numbers[NORMAL + k] = sum(b, negative(a));
    }
    var count = 0u;
    if !is_zero64(largest_of(NORMAL)) {
        let direction = direction_of(NORMAL);
        for (var edge = 0u; edge < 4u; edge += 1u) {
            var normal = direction;
            if edge > 0u {
                normal = edge_of(direction, edge - 1u);
            }
            set_normal(normal);
            // Dot products with the normal: of the ends, of the magnitudes, and of the normal itself.
            var along = array<vec2<u32>, 4>();
            for (var k = 0u; k < 4u; k += 1u) {
                along[k] = dot_of(NORMAL, FROM + 3u * k, k == 2u);
            }
            let reach = product(thick, root(along[3]));
            let is_up = is_less(along[0], along[1]);
            let most = sum(select(along[0], along[1], is_up), reach);
            let least = sum(negative(select(along[1], along[0], is_up)), reach);
            let slack = product(along[2], half_to(ROUNDING_BITS));
            count = add_parts(number, count, normal, array<vec2<u32>, 2>(most, least), slack);
        }
    }
    write_region(number, bounds_of_balls(one, other, radius), count);
}
