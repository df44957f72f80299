// rank_ends: finds the end of each entry's interval among the sorted starts, and writes the data of each entry for the
// sweep.
//
// Reads   frame, counts
//         keys       [entry_count] sorted: cell and start; and the same four at a time as key_quads
//         entries    [entry_count] in the same order: box index and flags
//         box_ends   [box_count] end and footprint
// Writes  stretches  [entry_count] the first rank whose cell is another or whose start is after the entry's end, and
//                    the count of unproven candidates before it; zeros behind the last, up to a multiple of
//                    ENTRY_STRIDE, since ENTRY_STRIDE elements are loaded together
//         footprints [entry_count] the begin and end of the box in its cell, and flags: the cell is the box's first,
//                    the box is plain, the box is in the second set
//         path_bases quads of each section of PATH_SECTION entries, and before every ENTRY_STRIDE-th entry of it
//                    (path.wgsl)
// Changes path_bases quads and candidates of each group of sections, added to zeros
//
// One workgroup per section; further workgroups do nothing. The candidates of an entry are the entries between its own
// rank and its end. A quad is four consecutive footprints, which one load reads. An entry without candidates also has
// one quad, which bounds the count of entries in a part of the path. Only every ENTRY_STRIDE-th entry stores a base;
// the quads of other entries follow from the ends.
//
// The search for an end starts at the rank of the entry. The end is mostly near, since most entries have few
// candidates. So the search first compares REACH_QUADS quads of keys, four quads at once. Twelve candidates then need
// one or two memory latencies. After that, the step doubles, from FIRST_REACH on. Touching intervals meet: a start
// equal to the end is not after the end.
//
// Sources: an independent sweep per entry, without a list of active entries, Liu, Harada, Lee, Kim 2010; Bentley and
// Yao 1976, An almost optimal algorithm for unbounded searching; work counted before it is divided, as in Baxter,
// Modern GPU, 2013.

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> box_ends: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> stretches: array<u32>;
@group(0) @binding(6) var<storage, read_write> footprints: array<u32>;
@group(0) @binding(7) var<storage, read> key_quads: array<vec4<u32>>;
@group(0) @binding(8) var<storage, read_write> path_bases: array<atomic<u32>>;

// Quads of keys that the search compares, four at once, before it doubles its step.
const REACH_QUADS: u32 = 16u;

// Returns how many of sixteen ascending keys are at most `most`. The last key must exceed `most`.
fn number_up_to(a: vec4<u32>, b: vec4<u32>, c: vec4<u32>, d: vec4<u32>, most: u32) -> u32 {
    // Bisection: find the first quad whose last key exceeds `most`.
    let is_upper = b.w <= most;
    let low = select(a, c, is_upper);
    let high = select(b, d, is_upper);
    let is_high = low.w <= most;
    let quad = select(low.xyz, high.xyz, is_high);
    let ones = select(vec3<u32>(0u), vec3<u32>(1u), quad <= vec3<u32>(most));
    return select(0u, 8u, is_upper) + select(0u, 4u, is_high) + ones.x + ones.y + ones.z;
}

// Returns the first rank from `first` on whose key exceeds `end_key`. The key before `first` must not exceed it.
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

// Returns the count of unproven candidates of an entry: the last candidates, which may begin after the entry ends,
// since keys are rounded. At most ALL_UNPROVEN.
fn unproven_before(rank: u32, end: u32, last_proven: u32) -> u32 {
    let most = min(ALL_UNPROVEN, end - rank - 1u);
    var count = 0u;
    while count < most && keys[end - 1u - count] > last_proven {
        count += 1u;
    }
    return count;
}

// Returns the end of the candidates of an entry, packed with the count of unproven candidates. The interval of the
// entry ends at `own_end`, and `cell` has the cell bits of its key.
fn packed_end(rank: u32, n: u32, cell: u32, own_end: u32) -> u32 {
    let end_key = cell | own_end;
    let is_proven = own_end >= PROVEN_QUANTA;
    let last_proven = cell | select(0u, own_end - PROVEN_QUANTA, is_proven);
    let next = rank + 1u;
    var is_proven_end_found = false;
    // Compare sixteen keys at a time, until the last of them exceeds `last_proven`. In the first quad, keys up to the
    // entry's own key may also exceed `last_proven`, but not `end_key`.
    var quad = next / 4u;
    let last_quad = min(quad + REACH_QUADS, n / 4u);
    var a = vec4<u32>(0u);
    var b = vec4<u32>(0u);
    var c = vec4<u32>(0u);
    var d = vec4<u32>(0u);
    while !is_proven_end_found & (quad + 4u <= last_quad) {
        a = key_quads[quad];
        b = key_quads[quad + 1u];
        c = key_quads[quad + 2u];
        d = key_quads[quad + 3u];
        quad += 4u;
        is_proven_end_found = d.w > last_proven;
    }
    let is_found = is_proven_end_found & (d.w > end_key);
    let before = 4u * quad - 16u;
    let proven_end = max(next, before + number_up_to(a, b, c, d, last_proven));
    var end = select(max(next, 4u * quad), before + number_up_to(a, b, c, d, end_key), is_found);
    if !is_found {
        end = search_end(end, n, end_key);
    }
    var unproven = min(ALL_UNPROVEN, end - proven_end);
    if !is_proven_end_found {
        unproven = unproven_before(rank, end, last_proven);
    }
    return end | (select(ALL_UNPROVEN, unproven, is_proven) << END_BITS);
}

// The end of the candidates of each entry of the section; zero after the last entry.
var<workgroup> entry_ends: array<u32, PATH_SECTION>;
// Candidates of the section, in the two words of a sum (shared/scan.wgsl).
var<workgroup> section_candidates: array<atomic<u32>, 2>;

const STRIDES: u32 = PATH_SECTION / ENTRY_STRIDE;
const_assert PATH_SECTION == 512u && ENTRY_STRIDE == 8u;

// Writes the end of the candidates of an entry, and its footprint.
fn rank_entry(rank: u32, n: u32) {
    if rank >= n {
        entry_ends[rank % PATH_SECTION] = 0u;
        if rank < div_ceil(n, ENTRY_STRIDE) * ENTRY_STRIDE {
            stretches[rank] = 0u;
        }
        return;
    }
    let entry = entries[rank];
    let own = box_ends[entry & ENTRY_BOX];
    let mask = (1u << frame.position_bits) - 1u;
    let word = packed_end(rank, n, keys[rank] & ~mask, own.x);
    stretches[rank] = word;
    entry_ends[rank % PATH_SECTION] = end_of(word);

    // In a cell that is not the box's first, the box begins before the cell; in a cell that is not its last, it ends
    // after the cell.
    let first = select(0u, 0xffu, (entry & ENTRY_FIRST_U) != 0u) | select(0u, 0xff0000u, (entry & ENTRY_FIRST_V) != 0u);
    let last = select(0x7f00u, 0u, (entry & ENTRY_LAST_U) != 0u) | select(0x7f000000u, 0u, (entry & ENTRY_LAST_V) != 0u);
    footprints[rank] = ((own.y | FOOTPRINT_FIRST) & (first | 0xff00ff00u)) | last;
}

// Counts the quads and the candidates of ENTRY_STRIDE consecutive entries.
fn count_stride(stride: u32) -> vec2<u32> {
    var sums = vec2<u32>(0u);
    for (var rank = stride * ENTRY_STRIDE; rank < (stride + 1u) * ENTRY_STRIDE; rank += 1u) {
        let end = entry_ends[rank % PATH_SECTION];
        let first_quad = (rank + 1u) / 4u;
        let quads = max((end - 1u) / 4u, first_quad) - first_quad + 1u;
        sums += select(vec2<u32>(0u), vec2<u32>(quads, end - rank - 1u), end != 0u);
    }
    return sums;
}

// Adds a number to the sum of a group at word `at`.
fn add_to_group(at: u32, number: vec2<u32>) {
    let more = halves_of(number);
    atomicAdd(&path_bases[at], more.x);
    atomicAdd(&path_bases[at + 1u], more.y);
}

fn write_base(at: u32, base: vec2<u32>) {
    atomicStore(&path_bases[2u * at], base.x);
    atomicStore(&path_bases[2u * at + 1u], base.y);
}

@compute @workgroup_size(256)
fn rank_ends(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let section = group_index(group, groups);
    let n = counts.entry_count;
    if section >= path_sections() {
        return;
    }
    if local < 2u {
        atomicStore(&section_candidates[local], 0u);
    }
    rank_entry(section * PATH_SECTION + local, n);
    rank_entry(section * PATH_SECTION + 256u + local, n);
    workgroupBarrier();
    let stride = section * STRIDES + local;
    var own = vec2<u32>(0u);
    if local < STRIDES {
        own = count_stride(stride);
        let candidates = halves_of(vec2<u32>(own.y, 0u));
        atomicAdd(&section_candidates[0], candidates.x);
        atomicAdd(&section_candidates[1], candidates.y);
    }
    let scan = scan_workgroup48(local, vec2<u32>(own.x, 0u));
    if local < STRIDES && stride * ENTRY_STRIDE < n {
        write_base(stride_at(stride), scan.before);
    }
    if local == 0u {
        write_base(section_at(section), scan.total);
        let candidates = vec2<u32>(atomicLoad(&section_candidates[0]), atomicLoad(&section_candidates[1]));
        add_to_group(4u * (section / PATH_GROUP), scan.total);
        add_to_group(4u * (section / PATH_GROUP) + 2u, from_halves(candidates));
    }
}
