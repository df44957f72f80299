// events_count: which pairs are created, persist and are lost, as bits, and how many are.
//
// Reads   step_counts   pair_count, last_count
//         pairs         [pair_count] of the step
//         before        [pair_count] of events_find, four at a time
//         found         [last_count] bits of events_find
// Writes  event_words   [2 * words] of each 32 pairs, bits: created, persisting and awake; of 32 of the last list, lost; 0. And how many
//                       of each come before them within the tile, 0
//         event_tiles   [tiles] created, persisting and awake, lost, 0
// A workgroup per EVENT_BLOCK pairs of both lists, of which an invocation takes 32.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> before: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> found: array<u32>;
@group(0) @binding(4) var<storage, read_write> event_words: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> event_tiles: array<vec4<u32>>;

// Tells whether a box sleeps or is fixed.
fn rests(i: u32) -> bool {
    var bit = 0u;
    if filter_layout.fixed != ABSENT {
        bit |= bit_of(filter_layout.fixed, i);
    }
    if filter_layout.sleeping != ABSENT {
        bit |= bit_of(filter_layout.sleeping, i);
    }
    return bit != 0u;
}

// Returns, of the bits of 32 pairs from this one on, those of pairs that are not at rest.
fn awake(bits: u32, first: u32) -> u32 {
    var all = bits;
    if (filter_layout.fixed & filter_layout.sleeping) != ABSENT {
        var left = bits;
        while left != 0u {
            let pair = pairs[first + firstTrailingBit(left)];
            let bit = left & (0u - left);
            all ^= select(0u, bit, rests(pair.x) && rests(pair.y));
            left ^= bit;
        }
    }
    return all;
}

@compute @workgroup_size(256)
fn events_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    let word = tile * 256u + local;
    let first = word * 32u;
    var created = 0u;
    var persisting = 0u;
    var lost = 0u;
    if first < step_counts.pair_count {
        let count = step_counts.pair_count - first;
        for (var k = 0u; k < min(count, 32u); k += 4u) {
            let is_created = before[(first + k) / 4u] == vec4<u32>(EVENT_CREATED);
            let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), is_created);
            created |= (bits.x | bits.y | bits.z | bits.w) << k;
        }
        created &= bits_up_to(count);
        persisting = awake(~created & bits_up_to(count), first);
    }
    if first < step_counts.last_count {
        lost = ~found[word] & bits_up_to(step_counts.last_count - first);
    }
    // Each is at most EVENT_BLOCK.
    let counts = countOneBits(vec3<u32>(created, persisting, lost));
    let scan = scan_workgroup2(local, vec2<u32>(counts.x | (counts.y << 16u), counts.z));
    let length = max(step_counts.pair_count, step_counts.last_count);
    if first < length {
        event_words[2u * word] = vec4<u32>(created, persisting, lost, 0u);
        event_words[2u * word + 1u] = vec4<u32>(scan.before.x & 0xffffu, scan.before.x >> 16u, scan.before.y, 0u);
    }
    if local == 0u && first < length {
        event_tiles[tile] = vec4<u32>(scan.total.x & 0xffffu, scan.total.x >> 16u, scan.total.y, 0u);
    }
}
