// emit_asked: writes the pairs that giants_ask found and that lie in the window.
//
// Reads   params, window, boxes, counts, entries, giants, row_bounds
//         hit_words      [tiles * 256] pairs of each invocation, and where they are (asked_walk.wgsl), as far as they were kept
//         hit_offsets    [sweep_blocks + giant_blocks + 1], of emit_scan
// Writes  pairs          [window.capacity] (a, b), a < b: tile by tile, in it box by box, behind the pairs of emit_sweep

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<uniform> counts: Counts;
@group(0) @binding(3) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> entries: array<u32>;
@group(0) @binding(5) var<storage, read> giants: array<u32>;
@group(0) @binding(6) var<storage, read> row_bounds: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read> hit_words: array<u32>;
@group(0) @binding(8) var<storage, read> hit_offsets: array<vec2<u32>>;
@group(0) @binding(9) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn emit_asked(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    emit_block(group_index(group, groups), local);
}

// Writes the pairs that the word of an invocation stands for, of which the first one has this number.
fn emit_word(tile: u32, local: u32, word: u32, first: vec2<u32>) {
    let asker = asker_of(tile, local);
    var count = count_in(word);
    var number = first;
    if count <= 2u {
        for (var k = 0u; k < count; k += 1u) {
            write_asked(number, asker, nth_found(word, k));
            number = add64(number, vec2<u32>(1u, 0u));
        }
        return;
    }
    // Not on and on, should boxes have changed since they were tested.
    for (var near = parts_near(asker, found_in(word)); any(near != vec2<u32>(0u)); near = without_first(near)) {
        let part = first_of(near);
        for (var met = giants_met(asker, part); met != 0u && count > 0u; met &= met - 1u) {
            write_asked(number, asker, part * GIANT_PART + firstTrailingBit(met));
            number = add64(number, vec2<u32>(1u, 0u));
            count -= 1u;
        }
    }
}

// Writes the pair of a box and a giant, which is counted from the first one of the rows that are asked.
fn write_asked(number: vec2<u32>, asker: Asker, nth: u32) {
    let giant = giants[asker.first_row * GIANT_ROW + nth];
    write_pair(number, vec2<u32>(min(giant, asker.index), max(giant, asker.index)));
}
