// emit_giants: writes the pairs that giants_test found and that lie in the window.
//
// Reads   params, window, boxes, counts, frame, cells, giants
//         hit_words      [tiles * 256]; bits that had no room are found again
//         block_hits     [HIT_SUMS] sums, then [sweep_blocks + giant_blocks] pairs of each block
// Writes  pairs          [window.capacity] (a, b), a < b: giant by giant, behind the pairs of emit_sweep

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> counts: Counts;
@group(0) @binding(4) var<uniform> frame: Frame;
@group(0) @binding(5) var<storage, read> cells: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> giants: array<u32>;
@group(0) @binding(7) var<storage, read> hit_words: array<u32>;
@group(0) @binding(8) var<storage, read> block_hits: array<u32>;
@group(0) @binding(9) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn emit_giants(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    emit_block(group_index(group, groups), local);
}

// Writes the pairs whose bits are set in the word of an invocation, of which the first one has this number.
fn emit_word(tile: u32, local: u32, word: u32, first: vec2<u32>) {
    let giant = giant_of(tile);
    var number = first;
    for (var left = word; left != 0u; left &= left - 1u) {
        let other = first_box_of(tile, local) + firstTrailingBit(left) * 256u;
        write_pair(number, vec2<u32>(min(giant, other), max(giant, other)));
        number = add64(number, vec2<u32>(1u, 0u));
    }
}
