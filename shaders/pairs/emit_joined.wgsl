// emit_joined: writes the pairs that giants_join found and that lie in the window.
//
// Reads   params, window, boxes, counts, entries, giants, row_bounds
//         hit_words      [tiles * 256] pairs of each invocation, and the giants near its row (joined_walk.wgsl), as far as they were kept;
//                        behind them those of giants_rows
//         hit_offsets    [sweep_blocks + giant_blocks + 1], of emit_scan
// Writes  pairs          [window.capacity] (a, b), a < b: tile by tile, in it by rows, behind the pairs of emit_sweep
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
fn emit_joined(
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
            let is_kept = tile < end_kept;
            var count = 0u;
            var near = 0u;
            if is_kept {
                let word = hit_words[tile * 256u + local];
                count = count_in(word);
                near = select(0u, found_in(word), count > 0u);
            } else {
                near = near_of(tile, local);
            }
            let meeting = meeting_of(tile, local, near);
            if !is_kept {
                count = count_met(meeting);
            }
            let scan = scan_workgroup(local, count);
            emit_meeting(meeting, count, add64(next, vec2<u32>(scan.before, 0u)));
            next = add64(next, vec2<u32>(scan.total, 0u));
        }
    } else {
        for (var tile = first; tile < end_kept; tile += 1u) {
            let word = hit_words[tile * 256u + local];
            if count_in(word) != 0u {
                let before = add64(next, vec2<u32>(pairs_before(tile, local), 0u));
                emit_meeting(meeting_of(tile, local, found_in(word)), count_in(word), before);
            }
            next = add64(next, vec2<u32>(pairs_of_tiles(tile, select(tile, tile + 1u, tile + 1u < end_kept)), 0u));
        }
    }
}

// Writes so many pairs of a row and a group of giants, of which the first one has this number.
fn emit_meeting(meeting: Meeting, pair_count: u32, first: vec2<u32>) {
    var number = first;
    var count = pair_count;
    // No farther than to the last pair; nor on and on, should boxes have changed since they were tested.
    for (var k = 0u; k < GIANT_ROW && count > 0u; k += 1u) {
        let item = item_of(meeting.row, k);
        let met = giants_met(item, meeting);
        for (var left = met; left != 0u; left &= left - 1u) {
            let giant = giants[meeting.first_giant + firstTrailingBit(left)];
            write_pair(number, vec2<u32>(min(giant, item.index), max(giant, item.index)));
            number = add64(number, vec2<u32>(1u, 0u));
        }
        count -= min(count, countOneBits(met));
    }
}
