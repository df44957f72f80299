// sort_ballot: moves each key and its value to its place by a digit of WIDE_BITS; equal digits keep their order.
//
// Reads   sort_pass    one SortPass
//         counts       for the number of keys
//         histograms   [WIDE_RADIX * tiles], of sort_scan
//         keys_in, values_in     [n]
// Writes  keys_out, values_out   [n]
// Each subgroup takes a run of consecutive keys of the tile, in rounds of as many keys as it has invocations. Eight
// ballots a round tell each invocation which others have its digit (Ashkiani et al. 2016, "GPU multisplit"); the lowest
// of them adds their number to the subgroup's count of the digit. The counts are packed two to a word and scanned
// over the subgroups; then the keys are placed. For subgroups of 8 to 64 invocations, the workgroup cut evenly.

@group(0) @binding(0) var<uniform> sort_pass: SortPass;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> histograms: array<u32>;
@group(0) @binding(3) var<storage, read> keys_in: array<u32>;
@group(0) @binding(4) var<storage, read> values_in: array<u32>;
@group(0) @binding(5) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;

const WORDS: u32 = WIDE_RADIX / 2u;
const MOST_SUBGROUPS: u32 = 256u / 8u;

// [subgroup * WORDS + word] keys before, within the tile, with either of the word's two digits.
var<workgroup> ranks: array<atomic<u32>, MOST_SUBGROUPS * WORDS>;

// Tells which invocations of the subgroup have a key with this digit. Every invocation has to call.
fn peers_of(digit: u32, there: bool) -> vec2<u32> {
    var peers = subgroupBallot(there).xy;
    for (var bit = 0u; bit < WIDE_BITS; bit += 1u) {
        let is_set = ((digit >> bit) & 1u) == 1u;
        let with_bit = subgroupBallot(is_set).xy;
        peers &= select(~with_bit, with_bit, is_set);
    }
    return peers;
}

// Turns the subgroups' counts of the digits of word `local` into those of the subgroups before.
fn scan_subgroups(local: u32, subgroups: u32) {
    var running = 0u;
    for (var k = 0u; k < subgroups; k += 1u) {
        let own = atomicLoad(&ranks[k * WORDS + local]);
        atomicStore(&ranks[k * WORDS + local], running);
        running += own;
    }
}

@compute @workgroup_size(256)
fn sort_ballot(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) width: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
) {
    let tile = group_index(group, groups);
    let n = sort_length();
    let tile_count = div_ceil(n, SORT_TILE);
    let shift = sort_shift();
    let first = tile * SORT_TILE + subgroup * SORT_RUN * width + lane;
    let below = vec2<u32>(
        select((1u << lane) - 1u, 0xffffffffu, lane >= 32u),
        select(0u, (1u << (lane & 31u)) - 1u, lane >= 32u),
    );

    var in_round: array<u32, SORT_RUN>;
    for (var round = 0u; round < SORT_RUN; round += 1u) {
        let i = first + round * width;
        let there = i < n;
        var digit = 0u;
        if there {
            digit = (keys_in[i] >> shift) & (WIDE_RADIX - 1u);
        }
        let peers = peers_of(digit, there);
        let lowest = select(firstTrailingBit(peers.x), 32u + firstTrailingBit(peers.y), peers.x == 0u);
        let half = (digit & 1u) * 16u;
        var before = 0u;
        if there && lane == lowest {
            let number = countOneBits(peers.x) + countOneBits(peers.y);
            before = atomicAdd(&ranks[subgroup * WORDS + (digit >> 1u)], number << half);
        }
        let own = countOneBits(peers & below);
        before = subgroupShuffle(before, select(lane, lowest, there));
        in_round[round] = ((before >> half) & 0xffffu) + own.x + own.y;
        // The next round's additions come after this round's.
        subgroupBarrier();
    }
    workgroupBarrier();
    if local < WORDS {
        scan_subgroups(local, subgroups);
    }
    workgroupBarrier();
    for (var round = 0u; round < SORT_RUN; round += 1u) {
        let i = first + round * width;
        if i < n {
            let key = keys_in[i];
            let digit = (key >> shift) & (WIDE_RADIX - 1u);
            let before = (atomicLoad(&ranks[subgroup * WORDS + (digit >> 1u)]) >> ((digit & 1u) * 16u)) & 0xffffu;
            let place = histograms[digit * tile_count + tile] + before + in_round[round];
            keys_out[place] = key;
            values_out[place] = values_in[i];
        }
    }
}
