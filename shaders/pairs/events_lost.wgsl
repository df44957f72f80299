// events_lost: the pairs of the last step that are lost.
//
// Reads   step_counts   last_count
//         last_pairs    [last_count]
//         event_words   of events_count
//         event_tiles   [tiles] sums, of events_scan
// Writes  lost          [lost]
// An invocation per EVENT_RUN pairs of the last list.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> last_pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> event_words: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> event_tiles: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> lost: array<vec2<u32>>;

@compute @workgroup_size(256)
fn events_lost(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group_index(group, groups) * 256u + local) * EVENT_RUN;
    if first >= step_counts.last_count {
        return;
    }
    let events = events_of_run(first);
    var place = events.places.z;
    for (var bits = events.bits.z; bits != 0u; bits &= bits - 1u) {
        lost[place] = last_pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
}
