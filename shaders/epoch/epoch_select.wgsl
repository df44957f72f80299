// epoch_select: the boxes that are searched grown: all where an epoch begins, otherwise those that escaped and those that may
// meet one of them.
//
// Reads   params, epoch_params, epoch
//         boxes     [box_count * 3] bits of f32, two at a time
//         marks     of epoch_mark
//         filters   the world of each box, if there are worlds
// Changes fat       [slots * 3] the grown boxes; made where an epoch begins, as are the next two
//         last      [slots * 3] the boxes of this step
//         states    [slots / 32, rounded up] what each box did
// Writes  searched  [slots * 3] those that are searched, and NaNs in place of the others
// An invocation per slot.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> epoch_params: EpochParams;
@group(0) @binding(2) var<storage, read> epoch: Epoch;
@group(0) @binding(3) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> marks: array<u32>;
@group(0) @binding(5) var<storage, read_write> fat: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> last: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> states: array<vec4<u32>>;
@group(0) @binding(8) var<storage, read_write> searched: array<vec2<u32>>;

@compute @workgroup_size(256)
fn epoch_select(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= epoch_params.slots {
        return;
    }
    var low = vec3<u32>(INFINITY);
    var high = vec3<u32>(SIGN | INFINITY);
    if epoch.mode != EPOCH_BEGIN {
        low = fat_low(i);
        high = fat_high(i);
    } else {
        var own_low = vec3<u32>(NO_BOUND);
        var own_high = own_low;
        if i < params.box_count {
            own_low = min_bits_of(i);
            own_high = max_bits_of(i);
            if kind_of(own_low, own_high) != KIND_INVALID {
                let margin = vec3<u32>(margin_bits(epoch.margin));
                low = less_rounded_down(own_low, margin);
                high = sum_rounded_up(own_high, margin);
            }
        }
        set_fat(i, low, high);
        last[i * 3u] = own_low.xy;
        last[i * 3u + 1u] = vec2<u32>(own_low.z, own_high.x);
        last[i * 3u + 2u] = own_high.yz;
        if i % 32u == 0u {
            states[i / 32u] = vec4<u32>(0u);
        }
    }
    let is_there = low.x != INFINITY || high.x != (SIGN | INFINITY);
    if !is_there || !may_meet(i, low, high) {
        low = vec3<u32>(NO_BOUND);
        high = low;
    }
    searched[i * 3u] = low.xy;
    searched[i * 3u + 1u] = vec2<u32>(low.z, high.x);
    searched[i * 3u + 2u] = high.yz;
}

// Tells whether a box escaped, or may meet one that did.
fn may_meet(i: u32, low: vec3<u32>, high: vec3<u32>) -> bool {
    if epoch.mode == EPOCH_BEGIN || marks[epoch_params.cell_mask / 32u + 1u] != 0u {
        return true;
    }
    if has_escaped(i) {
        return true;
    }
    let cells = cells_of_box(low, high);
    let world = world_of(i);
    var is_marked = cells.is_vast || world == WORLD_GLOBAL;
    if is_marked {
        return true;
    }
    for (var z = cells.first.z; z <= cells.last.z; z += 1) {
        for (var y = cells.first.y; y <= cells.last.y; y += 1) {
            for (var x = cells.first.x; x <= cells.last.x; x += 1) {
                let parts = parts_of(vec3<i32>(x, y, z));
                let bit = bit_of_cell(parts.x ^ parts.y ^ parts.z, world);
                is_marked |= ((marks[bit / 32u] >> (bit % 32u)) & 1u) != 0u;
            }
        }
    }
    return is_marked;
}
