// query_moving: spheres and capsules that move, as the boxes that bound them.
//
// Reads   query
//         given      [query_count * words] bits of f32: one end or two, the radius, the direction, the limit
// Writes  queries    [query_count * 10] bits of f32: bounds, direction, limit; bounds that are invalid where the ends or the radius are
// An invocation for each query. As `SphereCast::bounds` and `CapsuleCast::bounds`.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read> given: array<u32>;
@group(0) @binding(2) var<storage, read_write> queries: array<u32>;

// Words of a capsule that moves; a sphere has three fewer.
const CAPSULE_CAST_WORDS: u32 = 11u;
const BOX_CAST_WORDS: u32 = 10u;
const NAN: u32 = 0x7fc00000u;

@compute @workgroup_size(64)
fn query_moving(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 64u + local;
    if i >= query.query_count {
        return;
    }
    let first = i * query.words;
    let one = vec3<u32>(given[first], given[first + 1u], given[first + 2u]);
    var other = one;
    var rest = first + 3u;
    if query.words == CAPSULE_CAST_WORDS {
        other = vec3<u32>(given[rest], given[rest + 1u], given[rest + 2u]);
        rest += 3u;
    }
    let radius = given[rest];
    let is_valid = are_finite(one) && are_finite(other) && is_radius(radius);
    let bounds = bounds_of_balls(one, other, radius);
    let to = i * BOX_CAST_WORDS;
    for (var k = 0u; k < 6u; k += 1u) {
        queries[to + k] = select(NAN, bounds[k], is_valid);
    }
    for (var k = 0u; k < 4u; k += 1u) {
        queries[to + 6u + k] = given[rest + 1u + k];
    }
}
