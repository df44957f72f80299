// emit_giants: writes the pairs that giants_test found and that lie in the window.
//
// Reads   params, window, boxes, counts, frame, cells, giants
//         hit_words      [tiles * 256]; bits that had no room are found again
//         hit_offsets    [sweep_blocks + giant_blocks + 1], of emit_scan
// Writes  pairs          [window.capacity] (a, b), a < b: giant by giant, behind the pairs of emit_sweep

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> counts: Counts;
@group(0) @binding(4) var<uniform> frame: Frame;
@group(0) @binding(5) var<storage, read> cells: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> giants: array<u32>;
@group(0) @binding(7) var<storage, read> hit_words: array<u32>;
@group(0) @binding(8) var<storage, read> hit_offsets: array<vec2<u32>>;
@group(0) @binding(9) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn emit_giants(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    if block >= counts.giant_blocks {
        return;
    }
    let at = counts.sweep_blocks + block;
    var next = hit_offsets[at];
    if !meets_window(next, sub64(hit_offsets[at + 1u], next).x) {
        return;
    }
    let first = block * counts.giant_tiles_per_block;
    let end = min(first + counts.giant_tiles_per_block, counts.giant_tiles);
    for (var tile = first; tile < end; tile += 1u) {
        var word = 0u;
        if tile < params.giant_tile_capacity {
            word = hit_words[tile * 256u + local];
        } else {
            word = test_boxes(tile, local);
        }
        let scan = scan_workgroup(local, countOneBits(word));
        var number = add64(next, vec2<u32>(scan.before, 0u));
        while word != 0u {
            let bit = firstTrailingBit(word);
            let giant = giant_of(tile);
            let other = first_box_of(tile, local) + bit * 256u;
            write_pair(number, vec2<u32>(min(giant, other), max(giant, other)));
            number = add64(number, vec2<u32>(1u, 0u));
            word &= word - 1u;
        }
        next = add64(next, vec2<u32>(scan.total, 0u));
    }
}
