// query_squares: the answers of each row.
//
// Reads   tree, query
//         nodes     of tree_leaves
//         queries   [query_count * words] bits of f32: points and radii
//         order     [query_count] the queries that are asked now
//         rows, states    of query_near
// Writes  answers   [query_count * most] box and squared distance, rounded down; behind the last, and where
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
fn query_squares(
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
    if state.x == NOWHERE && i % query.most < state.y && begin_point(number) {
        let place = rows[own].x;
        let own = box_at(place);
        answer = vec2<u32>(id_at(place), square_of(own.low, own.high));
    }
    answers[own] = answer;
}

// What is rounded down: the square of the distance to an end.
struct Measure {
    ends: vec3<u32>,
}

fn is_at_most(number: u32, what: Measure) -> bool {
    begin_sum();
    add_square(what.ends);
    add_product(number ^ SIGN, ONE, 0);
    return sign_of(sum_up()) >= 0;
}

// Returns the square of the distance to a box, rounded down, in bits.
fn square_of(low: vec3<u32>, high: vec3<u32>) -> u32 {
    let ends = ends_of(low, high);
    if all(ends == point) {
        return 0u;
    }
    var guess = 1.0;
    if is_usual && class_of(low, high) == 0u {
        let along = bitcast<vec3<f32>>(ends) - sight_point;
        guess = along.x * along.x + along.y * along.y + along.z * along.z;
    }
    return round_down(guess, Measure(ends));
}
