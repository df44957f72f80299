// emit_asked: writes the pairs that giants_ask found and that lie in the window.
//
// Reads   params, window, boxes, counts, entries, giants, row_bounds
//         hit_words      [tiles * 256] pairs of each invocation, and where they are (asked_walk.wgsl), as far as they were kept
//         hit_offsets    [sweep_blocks + giant_blocks + 1], of emit_scan
// Writes  pairs          [window.capacity] (a, b), a < b: tile by tile, in it box by box, behind the pairs of emit_sweep
// On a software adapter, which pays for each barrier, twice: without SCANS for the tiles whose words were kept, with it for all others.

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

override SCANS: bool = false;

@compute @workgroup_size(256)
fn emit_asked(
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
    let end_kept = clamp(params.giant_tile_capacity, first, end);
    if SCANS {
        let passed = select(first, end_kept, params.has_own_for_kept != 0u);
        if passed == end {
            return;
        }
        next = add64(next, vec2<u32>(pairs_of_tiles(first, passed), 0u));
        for (var tile = passed; tile < end; tile += 1u) {
            let asker = asker_of(tile, local);
            var answer = Answer(0u, 0u);
            if tile < end_kept {
                let word = hit_words[tile * 256u + local];
                answer = Answer(count_in(word), found_in(word));
            } else {
                answer = answer_to(asker);
            }
            let scan = scan_workgroup(local, answer.count);
            emit_answer(asker, answer, add64(next, vec2<u32>(scan.before, 0u)));
            next = add64(next, vec2<u32>(scan.total, 0u));
        }
    } else {
        for (var tile = first; tile < end_kept; tile += 1u) {
            let word = hit_words[tile * 256u + local];
            if count_in(word) != 0u {
                let before = add64(next, vec2<u32>(pairs_before(tile, local), 0u));
                emit_answer(asker_of(tile, local), Answer(count_in(word), found_in(word)), before);
            }
            next = add64(next, vec2<u32>(pairs_of_tiles(tile, select(tile, tile + 1u, tile + 1u < end_kept)), 0u));
        }
    }
}

// Writes the pairs of a box, of which the first one has this number.
fn emit_answer(asker: Asker, answer: Answer, first: vec2<u32>) {
    var number = first;
    if answer.count <= 2u {
        for (var k = 0u; k < answer.count; k += 1u) {
            write_asked(number, asker, nth_found(answer, k));
            number = add64(number, vec2<u32>(1u, 0u));
        }
        return;
    }
    // Not on and on, should boxes have changed since they were tested.
    var count = answer.count;
    for (var near = parts_near(asker, answer.found); any(near != vec2<u32>(0u)); near = without_first(near)) {
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
