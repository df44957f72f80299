// query_times: computes when each path touches each box of its list.
//
// Reads   tree, query, window
//         offsets   [query_count] behind the lists, the count of answers
//         nodes     of tree_bottom
//         places    [box_count] the place of each box among the leaves
//         queries   [query_count * u32_count] bits of f32: rays, moving boxes, or with IS_ROUND moving round shapes
//                   (path.wgsl)
// Changes pairs     [written] from (query, box) to (box, time), the time rounded down
//
// One invocation per answer.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<uniform> window: Window;
@group(0) @binding(3) var<storage, read> offsets: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> nodes: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> places: array<u32>;
@group(0) @binding(6) var<storage, read> queries: array<u32>;
@group(0) @binding(7) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn query_times(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= window_length(offsets[query.query_count].xy, window) {
        return;
    }
    let pair = pairs[i];
    let is_valid = begin_shape(pair.x);
    let own = box_at(places[pair.y]);
    var time = number_of(own);
    if IS_ROUND {
        if is_round {
            time = touch_of(own, time, false).t;
        }
    }
    pairs[i] = vec2<u32>(pair.y, select(INFINITY, time, is_valid));
}
