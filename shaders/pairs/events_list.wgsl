// events_list: lists the created pairs, the persisting pairs that are not at rest, and the lost pairs of the last step.
//
// Reads   step_params
//         header       of the list of the step
//         last_step    pairs of the last step
//         pairs        of the step
//         last_pairs   of the last step
// Changes event_marks  bits, counts of tiles and sums of groups of events_find; adds the totals
// Writes  created      [created]
//         persisting   [persisting]
//         lost         [lost]
//
// One workgroup per EVENT_TILE pairs of the longer list, at least one; one invocation per EVENT_RUN pairs.
//
// Source: compaction by sums of counts, Sengupta, Harris, Zhang, Owens 2007, Scan primitives for GPU computing.

@group(0) @binding(0) var<uniform> step_params: StepParams;
@group(0) @binding(1) var<storage, read> header: QueryHeader;
@group(0) @binding(2) var<storage, read> last_step: array<u32>;
@group(0) @binding(3) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> last_pairs: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> event_marks: array<u32>;
@group(0) @binding(6) var<storage, read_write> created: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> persisting: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> lost: array<vec2<u32>>;

// Counts of created, persisting and found pairs: of the tiles before this tile, then of all tiles.
var<workgroup> event_sums: array<atomic<u32>, 6>;

@compute @workgroup_size(256)
fn events_list(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let lengths = event_step(last_step[0]);
    let tiles = div_ceil(max(lengths.pair_count, lengths.last_count), EVENT_TILE);
    // The condition is uniform, so all invocations return. The first workgroup always continues, since it writes the
    // totals.
    if tile >= max(tiles, 1u) {
        return;
    }
    if local < 6u {
        atomicStore(&event_sums[local], 0u);
    }
    workgroupBarrier();
    add_counts_before(tile, tiles, local);
    // No bit is set after the end of a list.
    let first = tile * EVENT_TILE + local * EVENT_RUN;
    let is_created = own_bits(EVENT_IS_CREATED, first);
    let is_awake = own_bits(EVENT_IS_AWAKE, first);
    let is_lost = ~own_bits(EVENT_FOUND, first) & bits_up_to(min(EVENT_RUN, lengths.last_count - min(first, lengths.last_count)));
    // Two counts share a word, since the sum of each is at most EVENT_TILE.
    let counts = vec2<u32>(countOneBits(is_created) | (countOneBits(is_awake) << 16u), countOneBits(is_lost));
    let scan = scan_workgroup2(local, counts);

    let all_created = atomicLoad(&event_sums[3]);
    let all_found = atomicLoad(&event_sums[5]);
    // The two counts of found pairs are equal, unless two boxes have the same index in the last step.
    let is_one_to_one = lengths.pair_count - all_created == all_found;
    let is_counted = is_one_to_one && lengths.refused == 0u;
    if tile == 0u && local == 0u {
        event_marks[0] = select(0u, all_created, is_counted);
        event_marks[1] = select(0u, atomicLoad(&event_sums[4]), is_counted);
        event_marks[2] = select(0u, lengths.last_count - all_found, is_counted);
        event_marks[3] = select(OVERFLOW_NAMES, lengths.refused, is_one_to_one);
    }
    if !is_counted {
        return;
    }
    var place = atomicLoad(&event_sums[0]) + (scan.before.x & 0xffffu);
    for (var bits = is_created; bits != 0u; bits &= bits - 1u) {
        created[place] = pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
    place = atomicLoad(&event_sums[1]) + (scan.before.x >> 16u);
    for (var bits = is_awake; bits != 0u; bits &= bits - 1u) {
        persisting[place] = pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
    place = tile * EVENT_TILE - atomicLoad(&event_sums[2]) + scan.before.y;
    for (var bits = is_lost; bits != 0u; bits &= bits - 1u) {
        lost[place] = last_pairs[first + firstTrailingBit(bits)];
        place += 1u;
    }
}

// Adds up the counts of the tiles before this tile, and of all tiles, by groups of tiles.
fn add_counts_before(tile: u32, tiles: u32, local: u32) {
    let own_group = tile / EVENT_GROUP;
    for (var i = local; i < div_ceil(tiles, EVENT_GROUP); i += 256u) {
        add_counts(group_at(i), i < own_group, true);
    }
    if own_group * EVENT_GROUP + local < tile {
        add_counts(tile_at(own_group * EVENT_GROUP + local), true, false);
    }
}

// Adds the three counts at `place` to the sums of the tiles before this tile (if `is_before`), and of all tiles (if
// `is_of_all`).
fn add_counts(place: u32, is_before: bool, is_of_all: bool) {
    for (var k = 0u; k < 3u; k += 1u) {
        let count = event_marks[place + k];
        if is_before {
            atomicAdd(&event_sums[k], count);
        }
        if is_of_all {
            atomicAdd(&event_sums[3u + k], count);
        }
    }
}

// Returns the bits of EVENT_RUN pairs from `first` on; zeros after the end of both lists.
fn own_bits(which: u32, first: u32) -> u32 {
    if first >= step_params.capacity {
        return 0u;
    }
    return (event_marks[bits_at(which, first / 32u)] >> (first % 32u)) & bits_up_to(EVENT_RUN);
}
