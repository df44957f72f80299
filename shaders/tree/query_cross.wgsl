// query_cross: all boxes that each path touches.
//
// Reads   tree, query, window
//         nodes      of tree_bottom, tree_levels and tree_top
//         queries    [query_count * words] bits of f32: rays or boxes that move (path.wgsl)
//         order      [query_count] the queries in the order in which they are asked
//         ranges, askers, filters
// Changes offsets    counts, or where lists begin (lists.wgsl)
// Writes  pairs      where EMITS: (query, box); those of one query in no order; else the first answers of each list (lists.wgsl)
// An invocation for each query, or with the switch IS_SHARED as many as SHARERS, which counts first and then, with the switch
// EMITS, writes.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<uniform> window: Window;
@group(0) @binding(3) var<storage, read> nodes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> queries: array<u32>;
@group(0) @binding(5) var<storage, read> order: array<u32>;
@group(0) @binding(6) var<storage, read> ranges: array<u32>;
@group(0) @binding(7) var<storage, read> askers: array<u32>;
@group(0) @binding(8) var<storage, read_write> offsets: array<vec4<u32>>;
@group(0) @binding(9) var<storage, read_write> pairs: array<u32>;

const IS_RANKED: bool = false;
// A second dispatch would take as long as the longest of these walks.
const IS_EXACT: bool = true;

@compute @workgroup_size(64)
fn query_cross(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    list_boxes(group_index(group, groups), local);
}

fn begin_shape(number: u32) -> bool {
    return begin_path(number);
}
