// What a query says of which boxes it meets. Shared by the kernels that answer queries.
//
// Reads   filter_layout, filters    what the boxes say
//         askers     [query_count * 5] group, mask, body, number of the world, box to ignore; only where QUERY_FILTERS
//         ranges     [world_count + 2] of tree_ranges; only where there are worlds
// The rule is the twin of `Asker::meets` in src/queries/batch.rs.

@group(0) @binding(5) var<storage, read> ranges: array<u32>;
@group(0) @binding(6) var<storage, read> askers: array<u32>;
@group(0) @binding(10) var<uniform> filter_layout: FilterLayout;
@group(0) @binding(11) var<storage, read> filters: array<u32>;

const ANY: u32 = 0xffffffffu;

// Group, mask, body and box to ignore.
var<private> asker: vec4<u32>;

// Reads what a query says, and returns the places of its world and of the global boxes: two ranges, each with its end.
fn begin_query(number: u32) -> vec4<u32> {
    asker = vec4<u32>(ANY);
    var world = ANY;
    if has_flag(QUERY_FILTERS) {
        let at = 5u * number;
        asker = vec4<u32>(askers[at], askers[at + 1u], askers[at + 2u], askers[at + 4u]);
        world = askers[at + 3u];
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

// Returns a box's word in a list by box, or `missing` where the list is empty.
fn of_box(list: u32, i: u32, missing: u32) -> u32 {
    if list == ABSENT {
        return missing;
    }
    return filters[list + i];
}

// Tells whether the query meets a box, were they to touch. Worlds are no matter here.
fn meets(id: u32) -> bool {
    let query_meets = (asker.y & of_box(filter_layout.group, id, ANY)) != 0u;
    let box_meets = (of_box(filter_layout.mask, id, ANY) & asker.x) != 0u;
    let by_group = select(query_meets | box_meets, query_meets & box_meets, query.rule == RULE_BOTH);
    let is_own = (of_box(filter_layout.body, id, id) == asker.z) | (of_box(filter_layout.parent, id, ANY) == asker.z);
    return by_group & ((asker.z == ANY) | !is_own) & (id != asker.w);
}
