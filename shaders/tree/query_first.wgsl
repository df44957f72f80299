// query_first: the first boxes that each path touches.
//
// Reads   tree, query
//         nodes      of tree_bottom, tree_levels and tree_top
//         queries    [query_count * words] bits of f32: rays or boxes that move (path.wgsl)
//         order      [query_count] the queries in the order in which they are asked
//         ranges, askers, filters
// Changes rows       [query_count * most] the places of the answers (rows.wgsl)
//         states     [query_count] what is left for the next dispatch
// An invocation for each query. Nodes are looked at in the order in which the path reaches them.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<storage, read> nodes: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> queries: array<u32>;
@group(0) @binding(4) var<storage, read> order: array<u32>;
@group(0) @binding(5) var<storage, read> ranges: array<u32>;
@group(0) @binding(6) var<storage, read> askers: array<u32>;
@group(0) @binding(7) var<storage, read_write> rows: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> states: array<vec4<u32>>;

const IS_RANKED: bool = true;
// A second dispatch would take as long as the longest of these walks.
const IS_EXACT: bool = true;

@compute @workgroup_size(64)
fn query_first(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let turn = group_index(group, groups) * 64u + local;
    if turn >= query.query_count {
        return;
    }
    let number = order[turn];
    let is_valid = begin_path(number);
    let place = begin_row(number);
    if !is_valid {
        resumed_at = INVALID_QUERY;
    } else if place != NOWHERE {
        walk_ranges(begin_query(number), place);
    }
    end_row(number);
}
