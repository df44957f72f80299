// epoch_check: which boxes moved, and which have left their grown boxes, which are grown anew where they are.
//
// Reads   params, epoch_params
//         boxes         [box_count * 3] bits of f32, two at a time
//         epoch         what is known of the epoch
//         filter_changes   [2]
// Changes last          [slots * 3] the boxes of the last step, to those of this one
//         fat           [slots * 3] the grown boxes
//         states        [slots / 32, rounded up] bits (states.wgsl); of the last step only which have left is read
// Writes  escape_tiles  [slots / EPOCH_TILE, rounded up] how many boxes left in this step, since the epoch began, and moved
// A workgroup per EPOCH_TILE slots, of which an invocation takes four. A box that is invalid has no pairs, and so stays where it
// was. One that is no longer there has left since the epoch began, and so have its pairs; it has no grown box, and nobody looks for
// what it meets. Where there is no epoch, nothing is looked at.
// Source: the grown boxes of Box2D's dynamic tree, Catto 2019, Dynamic bounding volume hierarchies.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> epoch_params: EpochParams;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> epoch: Epoch;
@group(0) @binding(4) var<storage, read_write> last: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> fat: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> states: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> escape_tiles: array<vec4<u32>>;
@group(0) @binding(8) var<storage, read> filter_changes: array<u32>;

const WORDS: u32 = EPOCH_TILE / 32u;

var<workgroup> moved: array<atomic<u32>, WORDS>;
var<workgroup> escaped: array<atomic<u32>, WORDS>;
var<workgroup> gone: array<atomic<u32>, WORDS>;
var<workgroup> left: array<u32, WORDS>;

@compute @workgroup_size(256)
fn epoch_check(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    if !has_epoch() {
        return;
    }
    if local < WORDS {
        atomicStore(&moved[local], 0u);
        atomicStore(&escaped[local], 0u);
        atomicStore(&gone[local], 0u);
    }
    workgroupBarrier();
    for (var k = local; k < EPOCH_TILE; k += 256u) {
        look_at(tile * EPOCH_TILE + k, k);
    }
    workgroupBarrier();
    let word = tile * WORDS + local;
    if local < WORDS {
        var all = 0u;
        if word < div_ceil(epoch_params.slots, 32u) {
            let fresh = atomicLoad(&escaped[local]);
            let own = atomicLoad(&moved[local]);
            all = states[word].z | fresh | atomicLoad(&gone[local]);
            states[word] = vec4<u32>(own, fresh, all, own | all);
        }
        left[local] = all;
    }
    workgroupBarrier();
    if local == 0u && tile * EPOCH_TILE < epoch_params.slots {
        var counts = vec4<u32>(0u);
        for (var k = 0u; k < WORDS; k += 1u) {
            counts += countOneBits(vec4<u32>(atomicLoad(&escaped[k]), left[k], atomicLoad(&moved[k]), 0u));
        }
        escape_tiles[tile] = counts;
    }
}

// Looks at a slot, the one with number `k` of the workgroup.
fn look_at(i: u32, k: u32) {
    if i >= epoch_params.slots {
        return;
    }
    let bit = 1u << (k % 32u);
    if i >= params.box_count {
        if is_there(fat_low(i), fat_high(i)) {
            set_last(i, array<vec2<u32>, 3>(vec2<u32>(NO_BOUND), vec2<u32>(NO_BOUND), vec2<u32>(NO_BOUND)));
            set_fat(i, vec3<u32>(NO_LOW), vec3<u32>(NO_HIGH));
            atomicOr(&moved[k / 32u], bit);
            atomicOr(&gone[k / 32u], bit);
        }
        return;
    }
    let low = min_bits_of(i);
    let high = max_bits_of(i);
    let words = array<vec2<u32>, 3>(low.xy, vec2<u32>(low.z, high.x), high.yz);
    let is_same = all(last[i * 3u] == words[0]) & all(last[i * 3u + 1u] == words[1]) & all(last[i * 3u + 2u] == words[2]);
    if is_same {
        return;
    }
    set_last(i, words);
    atomicOr(&moved[k / 32u], bit);
    if kind_of(low, high) != KIND_INVALID && !is_within_fat(i, low, high) {
        let margin = vec3<u32>(margin_bits(escape_margin(epoch.edge)));
        set_fat(i, less_rounded_down(low, margin), sum_rounded_up(high, margin));
        atomicOr(&escaped[k / 32u], bit);
    }
}

fn set_last(i: u32, words: array<vec2<u32>, 3>) {
    last[i * 3u] = words[0];
    last[i * 3u + 1u] = words[1];
    last[i * 3u + 2u] = words[2];
}

// Tells whether a box lies in its grown box.
fn is_within_fat(i: u32, low: vec3<u32>, high: vec3<u32>) -> bool {
    return all(ordered(fat_low(i)) <= ordered(low)) && all(ordered(high) <= ordered(fat_high(i)));
}
