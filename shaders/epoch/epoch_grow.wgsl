// epoch_grow: the grown boxes of an epoch that begins, which are all searched.
//
// Reads   params, epoch_params
//         epoch     margin
//         boxes     [box_count * 3] bits of f32, two at a time
// Writes  fat       [slots * 3] the grown boxes; nothing touches that of a box that is invalid or not there
//         last      [slots * 3] the boxes of this step
//         states    [slots / 32, rounded up] zeros: no box has left
//         searched  [slots * 3] the grown boxes, and NaNs where there is none
// An invocation per slot, where an epoch begins.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> epoch_params: EpochParams;
@group(0) @binding(2) var<storage, read> epoch: Epoch;
@group(0) @binding(3) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> fat: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> last: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> states: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> searched: array<vec2<u32>>;

@compute @workgroup_size(256)
fn epoch_grow(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= epoch_params.slots {
        return;
    }
    var low = vec3<u32>(NO_BOUND);
    var high = low;
    var grown_low = vec3<u32>(NO_LOW);
    var grown_high = vec3<u32>(NO_HIGH);
    var is_valid = false;
    if i < params.box_count {
        low = min_bits_of(i);
        high = max_bits_of(i);
        is_valid = kind_of(low, high) != KIND_INVALID;
    }
    last[i * 3u] = low.xy;
    last[i * 3u + 1u] = vec2<u32>(low.z, high.x);
    last[i * 3u + 2u] = high.yz;
    if is_valid {
        let margin = vec3<u32>(margin_bits(epoch.margin));
        grown_low = less_rounded_down(low, margin);
        grown_high = sum_rounded_up(high, margin);
    }
    set_fat(i, grown_low, grown_high);
    set_searched(i, grown_low, grown_high, is_valid);
    if i % 32u == 0u {
        states[i / 32u] = vec4<u32>(0u);
    }
}
