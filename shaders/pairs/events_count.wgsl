// events_count: how many pairs are created, persist and are lost, tile by tile of both lists.
//
// Reads   step_counts   pair_count, last_count
//         pairs         [pair_count] of the step
//         before        [pair_count] of events_find
//         found         [last_count] bits of events_find
// Writes  event_tiles   [tiles] created, persisting and awake, lost, 0
// A workgroup per EVENT_TILE pairs of both lists.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> before: array<u32>;
@group(0) @binding(3) var<storage, read> found: array<u32>;
@group(0) @binding(4) var<storage, read_write> event_tiles: array<vec4<u32>>;

@compute @workgroup_size(256)
fn events_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    var counts = vec2<u32>(0u);
    var lost = 0u;
    for (var k = local; k < EVENT_TILE; k += 256u) {
        let i = tile * EVENT_TILE + k;
        if i < step_counts.pair_count {
            counts += class_of(before[i], pairs[i]);
        }
    }
    let first = tile * EVENT_TILE + local * 32u;
    if local < EVENT_TILE / 32u && first < step_counts.last_count {
        lost = countOneBits(~found[first / 32u] & bits_up_to(step_counts.last_count - first));
    }
    // Each is at most EVENT_TILE.
    let scan = scan_workgroup2(local, vec2<u32>(counts.x | (counts.y << 16u), lost));
    if local == 0u {
        let tiles = div_ceil(max(step_counts.pair_count, step_counts.last_count), EVENT_TILE);
        if tile < tiles {
            event_tiles[tile] = vec4<u32>(scan.total.x & 0xffffu, scan.total.x >> 16u, scan.total.y, 0u);
        }
    }
}
