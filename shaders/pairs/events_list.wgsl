// events_list: the pairs that are created, and those that persist and are not at rest.
//
// Reads   step_counts   pair_count
//         pairs         [pair_count] of the step
//         event_words   of events_count
//         event_tiles   [tiles] sums, of events_scan
// Writes  created       [created]
//         persisting    [persisting]
// An invocation per EVENT_RUN pairs.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> event_words: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> event_tiles: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> created: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> persisting: array<vec2<u32>>;

@compute @workgroup_size(256)
fn events_list(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group_index(group, groups) * 256u + local) * EVENT_RUN;
    if first >= step_counts.pair_count {
        return;
    }
    let events = events_of_run(first);
    var place = events.places.x;
    for (var bits = events.bits.x; bits != 0u; bits &= bits - 1u) {
        created[place] = pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
    place = events.places.y;
    for (var bits = events.bits.y; bits != 0u; bits &= bits - 1u) {
        persisting[place] = pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
}
