// query_worlds: copies the filters of queries from an external buffer, and replaces world ids by numbers.
//
// Reads   tree, query
//         external_filters [query_count * 5] group, mask, body, world, box to ignore; from word `query.spheres` on,
//                    unless it is 0, [query_count * 4] the spheres of the queries
//         worlds     [world_count] (id, number), ascending by id
// Writes  query_filters     [query_count * 5] the same, with the number of the world; a number beyond all worlds if no
//                              box is in it
//
// One invocation per query.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<storage, read> external_filters: array<u32>;
@group(0) @binding(3) var<storage, read> worlds: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> query_filters: array<u32>;

const QUERY_FILTER_U32_COUNT: u32 = 5u;
// The index of the world among the words of a query filter.
const QUERY_FILTER_WORLD: u32 = 3u;
// The id for all worlds.
const GLOBAL: u32 = 0xffffffffu;

@compute @workgroup_size(256)
fn query_worlds(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= query.query_count {
        return;
    }
    for (var k = 0u; k < QUERY_FILTER_U32_COUNT; k += 1u) {
        var word = external_filters[i * QUERY_FILTER_U32_COUNT + k];
        if k == QUERY_FILTER_WORLD {
            word = number_of(word);
        }
        query_filters[i * QUERY_FILTER_U32_COUNT + k] = word;
    }
    if query.spheres != 0u {
        for (var k = 4u * i; k < 4u * i + 4u; k += 1u) {
            query_filters[query.spheres + k] = external_filters[query.spheres + k];
        }
    }
}

fn number_of(id: u32) -> u32 {
    if id == GLOBAL {
        return GLOBAL;
    }
    var first = 0u;
    var end = tree.world_count;
    while first < end {
        let middle = first + (end - first) / 2u;
        if worlds[middle].x < id {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    if first < tree.world_count && worlds[first].x == id {
        return worlds[first].y;
    }
    return tree.world_count + 1u;
}
