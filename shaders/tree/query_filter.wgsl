// Applies the filter of a query. Shared by the kernels that answer queries.
//
// Reads   filter_layout, filters    the filters of the boxes
//         query_filters     [query_count * 5] group, mask, body, number of the world, box to ignore; only where
//                    QUERY_FILTERS; and from word `query.spheres` on, where HAS_SPHERES, [query_count * 4] the sphere
//                    of each query
//         ranges     [world_count + 2] of tree_ranges; only where there are worlds
//
// The rule is the twin of `Meeting::meets` in src/queries/batch.rs.

// True if queries and boxes have spheres. Without them, none of their code is compiled.
override HAS_SPHERES: bool = false;

@group(0) @binding(5) var<storage, read> ranges: array<u32>;
@group(0) @binding(6) var<storage, read> query_filters: array<u32>;
@group(0) @binding(10) var<uniform> filter_layout: FilterLayout;
@group(0) @binding(11) var<storage, read> filters: array<u32>;

const ANY: u32 = 0xffffffffu;

// Group, mask, body and box to ignore.
var<private> query_filter: vec4<u32>;
// The sphere of the query, where HAS_SPHERES.
var<private> sphere_of_query: vec4<u32>;

// Reads the filter of a query, and returns two ranges of places: of its world, and of the global boxes.
fn begin_query(number: u32) -> vec4<u32> {
    query_filter = vec4<u32>(ANY);
    var world = ANY;
    if has_flag(QUERY_FILTERS) {
        let at = 5u * number;
        query_filter = vec4<u32>(query_filters[at], query_filters[at + 1u], query_filters[at + 2u], query_filters[at + 4u]);
        world = query_filters[at + 3u];
    }
    if HAS_SPHERES {
        begin_sphere(query.spheres + 4u * number);
    }
    if tree.world_count == 0u || world == ANY {
        return vec4<u32>(0u, tree.box_count, 0u, 0u);
    }
    var places = vec4<u32>(0u, 0u, ranges[tree.world_count], ranges[tree.world_count + 1u]);
    if world < tree.world_count {
        places.x = ranges[world];
        places.y = ranges[world + 1u];
    }
    return places;
}

// Reads the sphere of a query. An invalid sphere has no points.
fn begin_sphere(at: u32) {
    let center = vec3<u32>(query_filters[at], query_filters[at + 1u], query_filters[at + 2u]);
    let radius = query_filters[at + 3u];
    let is_finite = all((center & vec3<u32>(~SIGN)) < vec3<u32>(INFINITY));
    let is_radius = radius <= INFINITY || radius == SIGN;
    sphere_of_query = vec4<u32>(center, select(0x7fc00000u, radius & ~SIGN, is_finite && is_radius));
}

// Returns a box's word in a list by box, or `missing` if the list is empty.
fn of_box(list: u32, i: u32, missing: u32) -> u32 {
    if list == ABSENT {
        return missing;
    }
    return filters[list + i];
}

// Returns whether the filters accept the query and a box. Worlds are not tested here: begin_query selects them by
// ranges.
fn meets(id: u32) -> bool {
    let query_meets = (query_filter.y & of_box(filter_layout.group, id, ANY)) != 0u;
    let box_meets = (of_box(filter_layout.mask, id, ANY) & query_filter.x) != 0u;
    let by_group = select(query_meets | box_meets, query_meets & box_meets, query.rule == RULE_BOTH);
    let is_own = (of_box(filter_layout.body, id, id) == query_filter.z) | (of_box(filter_layout.parent, id, ANY) == query_filter.z);
    let by_lists = by_group & ((query_filter.z == ANY) | !is_own) & (id != query_filter.w);
    if HAS_SPHERES {
        return by_lists && meets_sphere(id);
    }
    return by_lists;
}

// Returns whether the spheres of the query and of a box have a point in common.
fn meets_sphere(id: u32) -> bool {
    let own = sphere_of(id);
    let touch = touch_in_f32(sphere_of_query, own);
    if touch == 0 {
        spent += SPHERE_STEPS;
        return is_sum_at_most_zero(sphere_of_query, own, 0u, false);
    }
    return touch > 0;
}
