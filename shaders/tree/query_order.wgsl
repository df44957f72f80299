// query_order: computes the place along the curve at which each query enters the scene. Adjacent queries in this order
// visit the same nodes.
//
// Reads   query
//         cube       of tree_cube
//         queries    [query_count * u32_count] bits of f32, of any kind
// Writes  keys       [query_count] the place, of PLACE_BITS bits
//         values     [query_count] the query
//
// The order changes the time of queries, not the answers. An invalid query can have any place.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<uniform> cube: Cube;
@group(0) @binding(2) var<storage, read> queries: array<u32>;
@group(0) @binding(3) var<storage, read_write> keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;

@compute @workgroup_size(256)
fn query_order(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= query.query_count {
        return;
    }
    let at = i * query.u32_count;
    // The u32 count gives the kind: three for a point, four for a sphere, six for a box, seven for a ray, eight for a
    // region, ten for a moving box, more for a moving round shape.
    var start = point_at(at) / 64.0;
    if query.u32_count != 7u && query.u32_count > 4u {
        start = point_at(at) / 128.0 + point_at(at + 3u) / 128.0;
    }
    if query.u32_count == 7u {
        start = entry(start, point_at(at + 3u));
    } else if query.u32_count >= BOX_CAST_U32_COUNT {
        start = entry(start, point_at(at + 6u));
    }
    keys[i] = place_of(start, cube);
    values[i] = i;
}

// Returns a point of a query, clamped so that no result overflows.
fn point_at(at: u32) -> vec3<f32> {
    let bits = vec3<u32>(queries[at], queries[at + 1u], queries[at + 2u]);
    let magnitude = min(bits & vec3<u32>(0x7fffffffu), vec3<u32>(USUAL_BITS));
    return bitcast<vec3<f32>>((bits & vec3<u32>(0x80000000u)) | magnitude);
}

// Returns the place where a path enters the cube, in units of 2^6, or its start.
fn entry(start: vec3<f32>, direction: vec3<f32>) -> vec3<f32> {
    let side = f32(CURVE_SIDE) / max(cube.scale, 1e-30);
    var enters = 0.0;
    for (var k = 0u; k < 3u; k += 1u) {
        if abs(direction[k]) > 1e-18 {
            let face = select(cube.low[k] + side, cube.low[k], direction[k] > 0.0);
            enters = max(enters, (face - start[k]) / direction[k]);
        }
    }
    return start + min(enters, 1e18) * direction;
}
