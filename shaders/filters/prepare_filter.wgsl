// prepare_filter: other values of one list by box, out of a buffer of the caller's.
//
// Reads   change   where the list begins, and which boxes have other values
//         new_values [change.count] the value of each: a word, a flag that is set unless it is 0 (FORMAT_FLAGS), or bits of f32 (FORMAT_MARGINS)
// Changes words    the list: a word per box, or a bit per box (FORMAT_FLAGS), of which those of other boxes stay. Margins that are
//                  negative or not finite become NaNs
// An invocation per word of the list that changes.

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

// Changes the flags of a word.
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

// Returns a margin as it is kept: -0 is one too.
fn margin_of(bits: u32) -> u32 {
    if bits == 0x80000000u {
        return 0u;
    }
    return select(bits, 0x7fc00000u, bits >= 0x7f800000u);
}
