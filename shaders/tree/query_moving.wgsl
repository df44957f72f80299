// query_moving: adds the bounding boxes of moving spheres and capsules.
//
// Reads   query
//         external_queries [query_count * u32_count] bits of f32: one end or two, the radius, the direction, the limit
// Writes  queries    [query_count * 17] bits of f32: bounds, direction, limit, both ends, radius; invalid bounds if the
//                    ends or the radius are invalid
//
// One invocation per query. The twin of `SphereCast::bounds` and `CapsuleCast::bounds`.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read> external_queries: array<u32>;
@group(0) @binding(2) var<storage, read_write> queries: array<u32>;

// Words of a moving capsule; a sphere has three fewer.
const CAPSULE_CAST_U32_COUNT: u32 = 11u;
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
    let first = i * query.u32_count;
    let one = vec3<u32>(external_queries[first], external_queries[first + 1u], external_queries[first + 2u]);
    var other = one;
    var rest = first + 3u;
    if query.u32_count == CAPSULE_CAST_U32_COUNT {
        other = vec3<u32>(external_queries[rest], external_queries[rest + 1u], external_queries[rest + 2u]);
        rest += 3u;
    }
    let radius = external_queries[rest];
    let is_valid = are_finite(one) && are_finite(other) && is_radius(radius);
    let bounds = bounds_of_balls(one, other, radius);
    let to = i * ROUND_CAST_U32_COUNT;
    // Clamped bounds do not contain the moving shape, so use the whole space.
    let is_everywhere = is_valid && is_cut;
    for (var k = 0u; k < 6u; k += 1u) {
        let most = finite_bound(INFINITY) ^ select(0u, SIGN, k < 3u);
        queries[to + k] = select(NAN, select(bounds[k], most, is_everywhere), is_valid);
    }
    for (var k = 0u; k < 4u; k += 1u) {
        queries[to + 6u + k] = external_queries[rest + 1u + k];
    }
    for (var k = 0u; k < 3u; k += 1u) {
        queries[to + BOX_CAST_U32_COUNT + k] = one[k];
        queries[to + BOX_CAST_U32_COUNT + 3u + k] = other[k];
    }
    queries[to + BOX_CAST_U32_COUNT + 6u] = select(radius, INFINITY, is_everywhere);
}
