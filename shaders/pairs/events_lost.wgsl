// events_lost: the pairs of the last step that are lost.
//
// Reads   step_counts   last_count
//         last_pairs    [last_count]
//         found         [last_count] bits of events_find
//         event_tiles   [tiles] sums, of events_scan
// Writes  lost          [lost]
// A workgroup per EVENT_TILE pairs of the last list; an invocation takes four in a row.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> last_pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> found: array<u32>;
@group(0) @binding(3) var<storage, read> event_tiles: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> lost: array<vec2<u32>>;

@compute @workgroup_size(256)
fn events_lost(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let first = tile * EVENT_TILE + local * EVENT_RUN;
    let last_count = step_counts.last_count;
    var bits = 0u;
    if first < last_count {
        let missing = ~found[first / 32u] >> (first % 32u);
        bits = missing & bits_up_to(min(last_count - first, EVENT_RUN));
    }
    let scan = scan_workgroup(local, countOneBits(bits));
    if bits != 0u {
        var place = scan.before + event_tiles[tile].z;
        for (var k = 0u; k < EVENT_RUN; k += 1u) {
            if ((bits >> k) & 1u) != 0u {
                lost[place] = last_pairs[first + k];
                place += 1u;
            }
        }
    }
}
