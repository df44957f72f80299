// Writes the answers of each row. Shared by the kernels that return numbers; they have
//
//   begin_shape(number)   reads a query, and returns whether it is valid
//   answer_of(box, rank)  the number of an answer, in bits of f32, from the box and its rank in the row
//
// Reads   tree, query
//         nodes     of tree_bottom
//         queries   [query_count * u32_count] bits of f32
//         order     [query_count] the queries of this dispatch
//         rows, states    (rows.wgsl)
// Writes  answers   [query_count * most] box and number, rounded down; behind the last, and if the query is unfinished,
//                   no box and infinity
//
// One invocation per answer.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> query: QueryParams;
@group(0) @binding(2) var<storage, read> nodes: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> queries: array<u32>;
@group(0) @binding(4) var<storage, read> order: array<u32>;
@group(0) @binding(5) var<storage, read> rows: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> states: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> answers: array<vec2<u32>>;

// Writes answer `i` of the concatenated rows.
fn write_answer(i: u32) {
    if i / query.most >= query.query_count {
        return;
    }
    let number = order[i / query.most];
    let to = number * query.most + i % query.most;
    var answer = vec2<u32>(NO_BOX, INFINITY);
    let state = states[number];
    if state.z == NOWHERE && i % query.most < state.x && begin_shape(number) {
        let row = rows[to];
        answer = vec2<u32>(id_at(row.x), answer_of(box_at(row.x), row.y));
    }
    answers[to] = answer;
}
