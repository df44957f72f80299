// prepare_filter: copies values from an external buffer to one list by box.
//
// Reads   change    the start of the list, and the range of boxes that change
//         new_values [change.count] the value of each: a u32, a flag that is set unless it is 0 (FORMAT_FLAGS), or bits
//                   of f32 (FORMAT_MARGINS)
// Changes words     the list: a u32 per box, or a bit per box (FORMAT_FLAGS). Values of other boxes stay. Margins that
//                   are negative or not finite become NaNs
//
// One invocation per changed u32 of the list.

@group(0) @binding(0) var<uniform> change: FilterChange;
@group(0) @binding(1) var<storage, read> new_values: array<u32>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(256)
fn prepare_filter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = group_index(group, groups) * 256u + local;
    if change.format == FORMAT_FLAGS {
        change_flags(change.first / 32u + k);
    } else if k < change.count {
        var value = new_values[k];
        if change.format == FORMAT_MARGINS {
            value = margin_of(value);
        }
        words[change.place + change.first + k] = value;
    }
}

// Changes the flags of one u32.
fn change_flags(word: u32) {
    let low = max(word * 32u, change.first);
    let high = min(word * 32u + 32u, change.first + change.count);
    if low >= high {
        return;
    }
    var flags = words[change.place + word];
    for (var i = low; i < high; i += 1u) {
        let bit = 1u << (i % 32u);
        flags = select(flags & ~bit, flags | bit, new_values[i - change.first] != 0u);
    }
    words[change.place + word] = flags;
}

// Returns a margin as the list stores it. -0 becomes 0.
fn margin_of(bits: u32) -> u32 {
    if bits == 0x80000000u {
        return 0u;
    }
    return select(bits, 0x7fc00000u, bits >= 0x7f800000u);
}
