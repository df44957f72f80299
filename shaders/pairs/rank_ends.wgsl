// rank_ends: where the interval of each entry ends among the sorted starts, and what the sweep needs of each entry.
//
// Reads   frame, counts
//         keys       [entry_count] sorted: cell and start; and the same four at a time as key_quads
//         entries    [entry_count] in the same order: box index and flags
//         positions  [box_count] (start, end, footprint)
// Writes  stretches  [entry_count] quads of the path that the entry contributes; the first rank whose cell is another
//                    or whose start is after the entry's end, and how many before it may be
//         footprints [entry_count] where in its cell the box begins and ends, whether the cell is its first, and
//                    whether the box is plain, and its set
// The start of an entry is its own rank. An end is only as far from it as the entry has candidates. So the
// search doubles its step from FIRST_REACH on. On a GPU it begins behind REACH_QUADS quads of keys, of which four are
// looked at at once: an entry with twelve candidates waits for memory once or twice, not eight times. Touching
// intervals meet: a start equal to the end is not after it.
// Sources: a sweep of every entry on its own, without a list of those that have begun, Liu, Harada, Lee, Kim 2010;
// Bentley and Yao 1976, An almost optimal algorithm for unbounded searching.

@group(0) @binding(0) var<storage, read> frame: Frame;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> positions: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> stretches: array<Stretch>;
@group(0) @binding(6) var<storage, read_write> footprints: array<u32>;
@group(0) @binding(7) var<storage, read> key_quads: array<vec4<u32>>;

override ON_GPU: bool = false;

// On a GPU, the quads of keys that are looked at, four at once, before the search doubles its step.
const REACH_QUADS: u32 = 16u;

// How many of the entries that were looked at begin at or before the end of an interval, and how many of them for sure,
// lane by lane of the quads.
struct Begun {
    all: vec4<u32>,
    sure: vec4<u32>,
}

// Adds a quad with these keys.
fn with_quad(begun: Begun, own: vec4<u32>, end_key: u32, last_sure: u32) -> Begun {
    return Begun(
        begun.all + select(vec4<u32>(0u), vec4<u32>(1u), own <= vec4<u32>(end_key)),
        begun.sure + select(vec4<u32>(0u), vec4<u32>(1u), own <= vec4<u32>(last_sure)),
    );
}

// Finds the first rank from `first` on whose key is above `end_key`, which that of the rank before is not.
fn search_end(first: u32, n: u32, end_key: u32) -> u32 {
    // keys[low] <= end_key < keys[high], with high == n standing for a key above all.
    var low = first - 1u;
    var high = min(first - 1u + FIRST_REACH, n);
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

// Counts the last candidates of an entry that may begin after it ends, in spite of their keys.
fn unsure_before(rank: u32, end: u32, last_sure: u32) -> u32 {
    let most = min(ALL_UNSURE, end - rank - 1u);
    var count = 0u;
    while count < most && keys[end - 1u - count] > last_sure {
        count += 1u;
    }
    return count;
}

// Returns the stretch of an entry whose interval ends at `own_end` in `cell`.
fn stretch_of(rank: u32, n: u32, cell: u32, own_end: u32) -> Stretch {
    let end_key = cell | own_end;
    let is_sure = own_end >= SURE_QUANTA;
    let last_sure = cell | select(0u, own_end - SURE_QUANTA, is_sure);
    let first = (rank + 1u) / 4u;
    var begun = Begun();
    var end = rank + 1u;
    var quad = first;
    var goes_on = true;
    while ON_GPU && goes_on && quad < first + REACH_QUADS && quad * 4u + 16u <= n {
        let a = key_quads[quad];
        let b = key_quads[quad + 1u];
        let c = key_quads[quad + 2u];
        let d = key_quads[quad + 3u];
        begun = with_quad(begun, a, end_key, last_sure);
        begun = with_quad(begun, b, end_key, last_sure);
        begun = with_quad(begun, c, end_key, last_sure);
        begun = with_quad(begun, d, end_key, last_sure);
        quad += 4u;
        // The keys are sorted, and those up to the own one are not above the end.
        end = first * 4u + sum_of(begun.all);
        goes_on = end == quad * 4u;
    }
    // Where the own key is above `last_sure`, only ranks before the own one are not.
    let sure_end = max(first * 4u + sum_of(begun.sure), rank + 1u);
    var unsure = min(ALL_UNSURE, end - sure_end);
    if goes_on {
        end = search_end(end, n, end_key);
        unsure = unsure_before(rank, end, last_sure);
    }
    return Stretch(quads_of(rank, end), end | (select(ALL_UNSURE, unsure, is_sure) << END_BITS));
}

fn sum_of(counts: vec4<u32>) -> u32 {
    return counts.x + counts.y + counts.z + counts.w;
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
    stretches[rank] = stretch_of(rank, n, keys[rank] & ~mask, own.y);

    // The box goes on beyond a cell that is not its first, or not its last.
    let first = select(0u, 0x7fu, (entry & ENTRY_FIRST_U) != 0u) | select(0u, 0x7f0000u, (entry & ENTRY_FIRST_V) != 0u);
    let last = select(0x7f00u, 0u, (entry & ENTRY_LAST_U) != 0u) | select(0x7f000000u, 0u, (entry & ENTRY_LAST_V) != 0u);
    let flags = select(0u, 0x80u, (entry & ENTRY_FIRST_U) != 0u) | select(0u, 0x800000u, (entry & ENTRY_FIRST_V) != 0u);
    footprints[rank] = (own.z & (first | 0x7f007f00u | FOOTPRINT_OF_BOX)) | last | flags;
}
