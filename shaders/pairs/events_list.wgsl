// events_list: the pairs that are created, those that persist and are not at rest, and those of the last step that are lost.
//
// Reads   step_counts   pair_count, last_count
//         pairs         [pair_count] of the step
//         last_pairs    [last_count]
//         event_words   of events_count
//         event_tiles   [tiles] sums, of events_scan
// Writes  created       [created]
//         persisting    [persisting]
//         lost          [lost]
// An invocation per EVENT_RUN pairs of both lists.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> last_pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> event_words: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> event_tiles: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> created: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> persisting: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> lost: array<vec2<u32>>;

@compute @workgroup_size(256)
fn events_list(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group_index(group, groups) * 256u + local) * EVENT_RUN;
    if first >= max(step_counts.pair_count, step_counts.last_count) {
        return;
    }
    // No bit is set behind the end of a list.
    let word = event_words[first / 32u * 2u];
    let before = countOneBits(word & vec4<u32>((1u << (first % 32u)) - 1u));
    let places = event_words[first / 32u * 2u + 1u] + event_tiles[first / EVENT_BLOCK] + before;
    let own = (word >> vec4<u32>(first % 32u)) & vec4<u32>((1u << EVENT_RUN) - 1u);
    var place = places.x;
    for (var bits = own.x; bits != 0u; bits &= bits - 1u) {
        created[place] = pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
    place = places.y;
    for (var bits = own.y; bits != 0u; bits &= bits - 1u) {
        persisting[place] = pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
    place = places.z;
    for (var bits = own.z; bits != 0u; bits &= bits - 1u) {
        lost[place] = last_pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
}
