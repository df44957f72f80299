// query_short: sorts the retained lists, and writes them to their places.
//
// Reads   query, window
//         offsets   [query_count + 1] (low, high) the begin of each query's list
//         retained_answers  [query_count * RETAINED_ANSWERS] the boxes of each list of at most RETAINED_ANSWERS
//                   (lists.wgsl)
// Writes  pairs     [capacity] (query, box), ascending by box within a list, from number `window.first` on
//
// SORTERS invocations per list. Each places every SORTERS-th answer: its place is the count of smaller answers.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read> offsets: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> retained_answers: array<u32>;
@group(0) @binding(4) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn query_short(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    let number = i / SORTERS;
    if number >= query.query_count {
        return;
    }
    let first = offsets[number].xy;
    let length = sub64(offsets[number + 1u].xy, first);
    if length.y != 0u || length.x > query.retained_count {
        return;
    }
    let place = sub64(first, vec2<u32>(window.first_low, window.first_high));
    for (var own = i % SORTERS; own < length.x; own += SORTERS) {
        let id = retained_answer(number, own);
        var rank = 0u;
        for (var other = 0u; other < length.x; other += 1u) {
            rank += select(0u, 1u, retained_answer(number, other) < id);
        }
        let at = add64(place, vec2<u32>(rank, 0u));
        if at.y == 0u && at.x < window.capacity {
            pairs[at.x] = vec2<u32>(number, id);
        }
    }
}

fn retained_answer(number: u32, own: u32) -> u32 {
    return retained_answers[number * RETAINED_ANSWERS + own];
}
