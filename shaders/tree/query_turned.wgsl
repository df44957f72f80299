// query_turned: converts turned boxes to bounds and half-spaces.
//
// Reads   query
//         external_queries [query_count * 15] bits of f32: the centre, half of the edges, three axes
// Writes  queries    [query_count * 8] regions: bounds, the index of the first half-space, the count; from word `parts`
//                    on, 24 half-spaces for each query: normal and offset
//
// One invocation per query. The twin of `OrientedBox` in src/queries/shapes.rs, with the same 64-bit numbers.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read> external_queries: array<u32>;
@group(0) @binding(2) var<storage, read_write> queries: array<u32>;

const MOST_PARTS_OF_ONE: u32 = TURNED_PARTS;
const TURNED_U32_COUNT: u32 = 15u;
// The first numbers of vectors: the axes; the centre, three arms, and their extent; the normal.
const AXES: u32 = 0u;
const CENTER: u32 = 9u;
const ARMS: u32 = 12u;
const REACH: u32 = 21u;
const NORMAL: u32 = 24u;
const VECTORS: u32 = 9u;

var<private> half_edges: array<vec2<u32>, 3>;

@compute @workgroup_size(64)
fn query_turned(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let number = group_index(group, groups) * 64u + local;
    if number >= query.query_count {
        return;
    }
    let at = number * TURNED_U32_COUNT;
    if !has_meaning(at) {
        write_none(number);
        return;
    }
    for (var k = 0u; k < 3u; k += 1u) {
        numbers[CENTER + k] = widened(external_queries[at + k]);
        half_edges[k] = magnitude(widened(external_queries[at + 3u + k]));
    }
    for (var k = 0u; k < 9u; k += 1u) {
        numbers[AXES + k] = widened(external_queries[at + 6u + k]);
    }
    let is_solid = find_arms();
    let least = finite_bound(MINUS_INFINITY);
    let most = finite_bound(INFINITY);
    var bounds = array<u32, 6>(least, least, least, most, most, most);
    var normal_count = 3u;
    if is_solid {
        normal_count = 12u;
        for (var k = 0u; k < 6u; k += 1u) {
            // Lower bounds are computed as upper bounds of the mirrored shape.
            let mirrored = select(0u, SIGN, k < 3u);
            let center = numbers[CENTER + k % 3u] ^ vec2<u32>(0u, mirrored);
            let reach = numbers[REACH + k % 3u];
            let slack = product(sum(magnitude(center), reach), half_to(SOLID_ROUNDING_BITS));
            bounds[k] = finite_bound(narrowed_up(unpacked(sum(sum(center, reach), slack)))) ^ mirrored;
        }
    }
    var count = 0u;
    var direction = vec3<u32>(0u);
    for (var k = 0u; k < normal_count; k += 1u) {
        var normal = vec3<u32>(0u);
        if k < 3u {
            let first = at + 6u + 3u * k;
            normal = vec3<u32>(external_queries[first], external_queries[first + 1u], external_queries[first + 2u]);
        } else {
            if k % 3u == 0u {
                direction = direction_of(ARMS + k - 3u);
            }
            normal = edge_of(direction, k % 3u);
        }
        set_normal(normal);
        count = add_sides(number, count, normal, k);
    }
    write_region(number, bounds, count);
}

fn has_meaning(at: u32) -> bool {
    var is_valid = true;
    for (var k = 0u; k < 5u; k += 1u) {
        let first = at + 3u * k;
        let bits = vec3<u32>(external_queries[first], external_queries[first + 1u], external_queries[first + 2u]);
        let sizes = bits & vec3<u32>(~SIGN);
        is_valid &= all(sizes < vec3<u32>(INFINITY));
        // Half edges must not be negative, and axes not zero.
        is_valid &= k != 1u || all((bits < vec3<u32>(SIGN)) | (sizes == vec3<u32>(0u)));
        is_valid &= k < 2u || any(sizes != vec3<u32>(0u));
    }
    return is_valid;
}

// Computes the arms, the vectors from the centre to the faces. The corners are the centre plus or minus each arm times
// half of an edge. Returns false if the axes are nearly coplanar, since the arms are then inaccurate.
fn find_arms() -> bool {
    for (var k = 0u; k < 9u; k += 1u) {
        let one = AXES + 3u * ((k / 3u + 1u) % 3u);
        let other = AXES + 3u * ((k / 3u + 2u) % 3u);
        let next = (k + 1u) % 3u;
        let last = (k + 2u) % 3u;
        let gain = product(numbers[one + next], numbers[other + last]);
        let loss = product(numbers[one + last], numbers[other + next]);
        numbers[ARMS + k] = sum(gain, negative(loss));
    }
    // The volume, and the squares of the lengths of the axes.
    var volume = vec2<u32>(0u);
    var least = half_to(FLAT_BITS);
    for (var k = 0u; k < 4u; k += 1u) {
        let first = AXES + 3u * (max(k, 1u) - 1u);
        let own = dot_of(first, select(first, ARMS, k == 0u), false);
        if k == 0u {
            volume = own;
        } else {
            least = product(least, own);
        }
    }
    if !is_less(least, product(volume, volume)) {
        return false;
    }
    for (var k = 0u; k < 9u; k += 1u) {
        numbers[ARMS + k] = quotient(numbers[ARMS + k], volume);
    }
    for (var k = 0u; k < 3u; k += 1u) {
        var reach = vec2<u32>(0u);
        for (var arm = 0u; arm < 3u; arm += 1u) {
            reach = sum(reach, product(magnitude(numbers[ARMS + 3u * arm + k]), half_edges[arm]));
        }
        numbers[REACH + k] = reach;
    }
    return true;
}

// Adds the half-spaces of a normal and of its opposite. For k below 3, the normal is the normal of a face, otherwise of
// an edge.
fn add_sides(number: u32, count: u32, normal: vec3<u32>, k: u32) -> u32 {
    let is_face = k < 3u;
    // Dot products with the normal: of the centre, of its magnitudes, of the arms, and of their extent.
    var along = array<vec2<u32>, 6>();
    for (var j = 0u; j < select(6u, 2u, is_face); j += 1u) {
        along[j] = dot_of(NORMAL, CENTER + 3u * (max(j, 1u) - 1u), j == 1u || j == 5u);
    }
    var across = vec2<u32>(0u);
    if is_face {
        across = half_edges[k];
        along[5] = across;
    } else {
        for (var arm = 0u; arm < 3u; arm += 1u) {
            across = sum(across, product(magnitude(along[2u + arm]), half_edges[arm]));
        }
    }
    let bits = select(SOLID_ROUNDING_BITS, ROUNDING_BITS, is_face);
    let slack = product(sum(along[1], along[5]), half_to(bits));
    let offsets = array<vec2<u32>, 2>(sum(across, along[0]), sum(across, negative(along[0])));
    return add_parts(number, count, normal, offsets, slack);
}
