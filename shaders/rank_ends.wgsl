// rank_ends: where the interval of each entry ends among the sorted starts, and what the sweep needs of each entry.
//
// Reads   frame, counts
//         keys       [entry_count] sorted: cell and start
//         entries    [entry_count] in the same order: box index and flags
//         positions  [box_count] (start, end, extent)
// Writes  steps      [entry_count] quads of the path before the entry within its block of PATH_BLOCK entries, and
//                    the first rank whose cell is another or whose start is after the entry's end
//         extents    [entry_count] where in its cell the box begins and ends, and whether the cell is its first
//         path_sums  [blocks] (quads, candidates) of each block
// The start of an entry is its own rank. An end is as near as the entry has candidates, so the search doubles
// its step from there. Touching intervals meet: a start equal to the end is not after it.
// The candidates of an entry are the ranks between its own and its end. A quad is four extents in a row, of which
// one load brings all; an entry without candidates has one quad all the same, which bounds how many entries a piece
// of the path can span.

@group(0) @binding(0) var<storage, read> frame: Frame;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> positions: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> steps: array<Step>;
@group(0) @binding(6) var<storage, read_write> extents: array<u32>;
@group(0) @binding(7) var<storage, read_write> path_sums: array<vec2<u32>>;

fn end_of(rank: u32, n: u32, end_key: u32) -> u32 {
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
    return high;
}

@compute @workgroup_size(256)
fn rank_ends(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let rank = block * PATH_BLOCK + local;
    let n = counts.entry_count;
    var end = 0u;
    var quads = 0u;
    var candidates = 0u;
    if rank < n {
        let entry = entries[rank];
        let box_position = positions[entry & ENTRY_BOX];
        let mask = (1u << frame.position_bits) - 1u;
        end = end_of(rank, n, (keys[rank] & ~mask) | box_position.y);
        candidates = end - rank - 1u;
        quads = quads_of(rank, end);

        // The box goes on beyond a cell that is not its first, its last.
        let first = select(0u, 0x7fu, (entry & ENTRY_FIRST_U) != 0u) | select(0u, 0x7f0000u, (entry & ENTRY_FIRST_V) != 0u);
        let last = select(0x7f00u, 0u, (entry & ENTRY_LAST_U) != 0u) | select(0x7f000000u, 0u, (entry & ENTRY_LAST_V) != 0u);
        let flags = select(0u, 0x80u, (entry & ENTRY_FIRST_U) != 0u) | select(0u, 0x800000u, (entry & ENTRY_FIRST_V) != 0u);
        extents[rank] = (box_position.z & (first | 0x7f007f00u)) | last | flags;
    }
    let scan = scan_workgroup2(local, vec2<u32>(quads, candidates));
    if rank < n {
        steps[rank] = Step(scan.before.x, end);
    }
    if local == 0u && rank < n {
        path_sums[block] = scan.total;
    }
}
