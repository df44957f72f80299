// rank_ends: where the interval of each entry ends among the sorted starts.
//
// Reads   frame, counts
//         keys       [entry_count] sorted: cell and start
//         entries    [entry_count] in the same order: box index and flags
//         positions  [box_count] (start, end)
// Writes  ends       [entry_count] the first rank whose cell is another or whose start is after the end
// The start of an entry is its own rank. An end is as near as the entry has candidates, so the search doubles
// its step from there. Touching intervals meet: a start equal to the end is not after it.

@group(0) @binding(0) var<storage, read> frame: Frame;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> positions: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> ends: array<u32>;

@compute @workgroup_size(256)
fn rank_ends(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rank = group_index(group, groups) * 256u + local;
    let n = counts.entry_count;
    if rank >= n {
        return;
    }
    let end_position = positions[entries[rank] & ENTRY_BOX].y;
    let mask = (1u << frame.position_bits) - 1u;
    let end_key = (keys[rank] & ~mask) | end_position;

    // keys[low] <= end_key < keys[high], with high == n standing for a key above all.
    var low = rank;
    var high = rank + 1u;
    var step = 1u;
    while high < n && keys[high] <= end_key {
        low = high;
        high += min(step, n - high);
        step *= 2u;
    }
    while low + 1u < high {
        let middle = low + (high - low) / 2u;
        if keys[middle] <= end_key {
            low = middle;
        } else {
            high = middle;
        }
    }
    ends[rank] = high;
}
