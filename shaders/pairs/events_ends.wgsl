// events_ends: where in the last list the pairs of each span of a step begin.
//
// Reads   step_counts   pair_count, last_count
//         pairs         [pair_count] of the step, in canonical order
//         last_pairs    [last_count] of the last step, in canonical order
// Writes  event_ends    [spans + 1] the first place whose pair is not below the first one of each EVENT_SPAN pairs; last_count behind the
//                       last one
// An invocation for each.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> last_pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> event_ends: array<u32>;

@compute @workgroup_size(256)
fn events_ends(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let span = group_index(group, groups) * 256u + local;
    let last_count = step_counts.last_count;
    let first = span * EVENT_SPAN;
    if first < step_counts.pair_count {
        event_ends[span] = first_not_below(pairs[first], last_count);
    } else if span == div_ceil(step_counts.pair_count, EVENT_SPAN) {
        event_ends[span] = last_count;
    }
}

// Returns the first place in the last list whose pair is not below this one; `count` where there is none.
fn first_not_below(pair: vec2<u32>, count: u32) -> u32 {
    var first = 0u;
    var end = count;
    while first < end {
        let middle = first + (end - first) / 2u;
        if is_below(last_pairs[middle], pair) {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}
