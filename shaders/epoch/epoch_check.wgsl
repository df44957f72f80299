// epoch_check: which boxes moved, and which have left their grown boxes, or soon will, which are grown anew where they are.
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
// what it meets. Where there is no epoch, nothing is looked at. A step in which one box leaves costs hardly less than one in which
// many do: so in one of EPOCH_PERIOD steps, all leave that would before the next such step.
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
    let words = array<vec2<u32>, 3>(boxes[i * 3u], boxes[i * 3u + 1u], boxes[i * 3u + 2u]);
    let then = array<vec2<u32>, 3>(last[i * 3u], last[i * 3u + 1u], last[i * 3u + 2u]);
    if all(then[0] == words[0]) & all(then[1] == words[1]) & all(then[2] == words[2]) {
        return;
    }
    set_last(i, words);
    atomicOr(&moved[k / 32u], bit);
    let low = vec3<u32>(words[0], words[1].x);
    let high = vec3<u32>(words[1].y, words[2]);
    let kind = kind_of(low, high);
    if kind == KIND_INVALID {
        return;
    }
    let own = array<vec2<u32>, 3>(fat[i * 3u], fat[i * 3u + 1u], fat[i * 3u + 2u]);
    let own_low = vec3<u32>(own[0], own[1].x);
    let own_high = vec3<u32>(own[1].y, own[2]);
    var leaves = any(ordered(low) < ordered(own_low)) || any(ordered(own_high) < ordered(high));
    if kind == KIND_FINITE && is_early() {
        let way = max(exponents(low, vec3<u32>(then[0], then[1].x)), exponents(high, vec3<u32>(then[1].y, then[2])));
        let gap = min(exponents(low, own_low), exponents(own_high, high));
        leaves |= min(gap.x, min(gap.y, gap.z)) < max(way.x, max(way.y, way.z)) + EPOCH_SOON;
    }
    if leaves {
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

// Tells whether boxes leave in this step that soon would.
fn is_early() -> bool {
    return epoch.age % EPOCH_PERIOD == 1u && epoch.moved <= params.box_count / EPOCH_MOST_EARLY;
}

// Returns the exponents of f32 of three differences. A box that goes on as it did leaves its grown box within EPOCH_PERIOD steps if the
// least of what is left of the margin is not longer than as many of the largest of its ways, by exponents.
fn exponents(a: vec3<u32>, b: vec3<u32>) -> vec3<u32> {
    return (bitcast<vec3<u32>>(bitcast<vec3<f32>>(a) - bitcast<vec3<f32>>(b)) >> vec3<u32>(23u)) & vec3<u32>(0xffu);
}
