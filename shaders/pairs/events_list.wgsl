// events_list: the pairs that are created, and those that persist and are not at rest.
//
// Reads   step_counts   pair_count
//         pairs         [pair_count] of the step
//         before        [pair_count] of events_find
//         event_tiles   [tiles] sums, of events_scan
// Writes  created       [created]
//         persisting    [persisting]
// A workgroup per EVENT_TILE pairs; an invocation takes four in a row.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> before: array<u32>;
@group(0) @binding(3) var<storage, read> event_tiles: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> created: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> persisting: array<vec2<u32>>;

@compute @workgroup_size(256)
fn events_list(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * EVENT_TILE + local * EVENT_RUN;
    let end = min(first + EVENT_RUN, step_counts.pair_count);
    var counts = vec2<u32>(0u);
    for (var i = first; i < end; i += 1u) {
        counts += class_of(before[i], pairs[i]);
    }
    let scan = scan_workgroup2(local, counts);
    if first < end {
        var places = scan.before + event_tiles[tile].xy;
        for (var i = first; i < end; i += 1u) {
            let class_here = class_of(before[i], pairs[i]);
            if class_here.x != 0u {
                created[places.x] = pairs[i];
            }
            if class_here.y != 0u {
                persisting[places.y] = pairs[i];
            }
            places += class_here;
        }
    }
}
