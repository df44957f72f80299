// query_hits: the answers of each row.
//
// Reads   tree, query
//         nodes     of tree_bottom
//         queries   [query_count * words] bits of f32: rays or boxes that move (path.wgsl)
//         order     [query_count] the queries that are asked now
//         rows, states    of query_first
// Writes  answers   [query_count * most] box and time, rounded down; behind the last, and where
//                   the query is not done, no box and infinity
// An invocation for each answer.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<storage, read> nodes: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> queries: array<u32>;
@group(0) @binding(4) var<storage, read> order: array<u32>;
@group(0) @binding(5) var<storage, read> rows: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> states: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> answers: array<vec2<u32>>;

@compute @workgroup_size(256)
fn query_hits(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i / query.most >= query.query_count {
        return;
    }
    let number = order[i / query.most];
    let own = number * query.most + i % query.most;
    var answer = vec2<u32>(NO_BOX, INFINITY);
    let state = states[number];
    if state.x == NOWHERE && i % query.most < state.y && begin_path(number) {
        let place = rows[own].x;
        let own = box_at(place);
        answer = vec2<u32>(id_at(place), time_of(own.low, own.high));
    }
    answers[own] = answer;
}
