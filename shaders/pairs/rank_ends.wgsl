// rank_ends: where the interval of each entry ends among the sorted starts, and what the sweep needs of each entry.
//
// Reads   frame, counts
//         keys       [entry_count] sorted: cell and start
//         entries    [entry_count] in the same order: box index and flags
//         positions  [box_count] (start, end, footprint)
// Writes  stretches  [entry_count] quads of the path that the entry contributes; the first rank whose cell is another
//                    or whose start is after the entry's end, and how many before it may be
//         footprints [entry_count] where in its cell the box begins and ends, whether the cell is its first, and
//                    whether the box is plain
// The start of an entry is its own rank. An end is only as far from it as the entry has candidates, so the
// search doubles its step from FIRST_REACH on. Touching intervals meet: a start equal to the end is not after it.
// Sources: a sweep of every entry on its own, without a list of those that have begun, Liu, Harada, Lee, Kim 2010;
// Bentley and Yao 1976, An almost optimal algorithm for unbounded searching.

@group(0) @binding(0) var<storage, read> frame: Frame;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> positions: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> stretches: array<Stretch>;
@group(0) @binding(6) var<storage, read_write> footprints: array<u32>;

fn search_end(rank: u32, n: u32, end_key: u32) -> u32 {
    // keys[low] <= end_key < keys[high], with high == n standing for a key above all.
    var low = rank;
    var high = min(rank + FIRST_REACH, n);
    var step = FIRST_REACH;
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

// Counts the last candidates of an entry that may begin after it ends, in spite of their keys. The interval ends at
// `own_end` in `cell`.
fn unsure_before(rank: u32, end: u32, cell: u32, own_end: u32) -> u32 {
    if own_end < SURE_QUANTA {
        return ALL_UNSURE;
    }
    let last_sure = cell | (own_end - SURE_QUANTA);
    let most = min(ALL_UNSURE, end - rank - 1u);
    var count = 0u;
    while count < most && keys[end - 1u - count] > last_sure {
        count += 1u;
    }
    return count;
}

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
    let entry = entries[rank];
    let own = positions[entry & ENTRY_BOX];
    let mask = (1u << frame.position_bits) - 1u;
    let cell = keys[rank] & ~mask;
    let end = search_end(rank, n, cell | own.y);
    stretches[rank] = Stretch(quads_of(rank, end), end | (unsure_before(rank, end, cell, own.y) << END_BITS));

    // The box goes on beyond a cell that is not its first, or not its last.
    let first = select(0u, 0x7fu, (entry & ENTRY_FIRST_U) != 0u) | select(0u, 0x7f0000u, (entry & ENTRY_FIRST_V) != 0u);
    let last = select(0x7f00u, 0u, (entry & ENTRY_LAST_U) != 0u) | select(0x7f000000u, 0u, (entry & ENTRY_LAST_V) != 0u);
    let flags = select(0u, 0x80u, (entry & ENTRY_FIRST_U) != 0u) | select(0u, 0x800000u, (entry & ENTRY_FIRST_V) != 0u);
    footprints[rank] = (own.z & (first | 0x7f007f00u | FOOTPRINT_PLAIN)) | last | flags;
}
