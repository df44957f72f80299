// small_emit: writes the pairs that small_test found and that lie in the window, and all counts of the search.
//
// Reads   params, window, boxes
//         hit_words   [tiles * SMALL_LINES * 256], of small_test
//         block_hits  [tiles * SMALL_GROUPS], of small_test
// Writes  pairs       [window.capacity] (a, b), a < b, ascending: a row has a box's pairs with those behind it
//         counts      all of it
//         header      for a consumer on the GPU
//         arguments   of its indirect calls
//
// Workgroup 0 adds up the counts. Each other workgroup writes the pairs of a group of rows, with eight invocations per
// row. The kernel can be dispatched for any windows; consecutive windows give the whole list, each pair once.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> hit_words: array<u32>;
@group(0) @binding(4) var<storage, read> block_hits: array<u32>;
@group(0) @binding(5) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> counts: Counts;
@group(0) @binding(7) var<storage, read_write> header: PairHeader;
@group(0) @binding(8) var<storage, read_write> arguments: PairArguments;

@compute @workgroup_size(256)
fn small_emit(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = group_index(group, groups);
    if index == 0u {
        sum_up(local);
    } else {
        write_rows(index - 1u, local);
    }
}

// Returns the sum over this invocation's share of the first `end` numbers of block_hits.
fn share_of_hits(local: u32, end: u32) -> u32 {
    var sum = 0u;
    for (var at = local; at < end; at += 256u) {
        sum += block_hits[at];
    }
    return sum;
}

fn is_invalid(i: u32) -> bool {
    return kind_of(min_bits_of(i), max_bits_of(i)) == KIND_INVALID;
}

fn sum_up(local: u32) {
    let run = div_ceil(params.box_count, 256u);
    let first = local * run;
    let end = min(first + run, params.box_count);
    var invalid = 0u;
    for (var i = first; i < end; i += 1u) {
        invalid += select(0u, 1u, is_invalid(i));
    }
    let hits = share_of_hits(local, tiles_before(small_blocks()) * SMALL_GROUPS);
    let scan = scan_workgroup2(local, vec2<u32>(invalid, hits));

    var place = scan.before.x;
    for (var i = first; i < end && invalid > 0u && place < INVALID_LISTED; i += 1u) {
        if is_invalid(i) {
            counts.first_invalid[place] = vec4<u32>(i, 0u, 0u, 0u);
            place += 1u;
        }
    }
    if local >= scan.total.x && local < INVALID_LISTED {
        counts.first_invalid[local] = vec4<u32>(0u);
    }
    if local == 0u {
        counts.level = 0u;
        counts.entry_count = 0u;
        counts.giant_count = 0u;
        counts.invalid_count = scan.total.x;
        counts.candidate_low = params.box_count * (params.box_count - 1u) / 2u;
        counts.candidate_high = 0u;
        counts.refused = 0u;
        counts.path_low = 0u;
        counts.path_high = 0u;
        counts.sweep_tiles = 0u;
        counts.sweep_tiles_per_block = 0u;
        counts.sweep_blocks = 0u;
        counts.giant_tiles = 0u;
        counts.giant_tiles_per_block = 0u;
        counts.giant_blocks = 0u;
        write_header(vec2<u32>(scan.total.y, 0u));
    }
}

fn write_rows(group: u32, local: u32) {
    let block = group / SMALL_GROUPS;
    if block >= small_blocks() {
        return;
    }
    let rows = group % SMALL_GROUPS;
    let row = rows * SMALL_ROWS + local / SMALL_LINES;
    // A row has one word per tile and invocation.
    let words_each = small_blocks() - block;
    let first = local % SMALL_LINES * words_each;
    let line = tiles_before(block) * SMALL_LINES + first;

    var count = 0u;
    for (var j = 0u; j < words_each; j += 1u) {
        count += countOneBits(hit_words[(line + j) * 256u + row]);
    }
    let scan = scan_workgroup2(local, vec2<u32>(count, share_of_hits(local, hits_at(block, rows))));
    var number = scan.total.y + scan.before.x;
    if count == 0u || !meets_window(vec2<u32>(number, 0u), count) {
        return;
    }
    for (var j = 0u; j < words_each; j += 1u) {
        var word = hit_words[(line + j) * 256u + row];
        let column = block * 256u + (first + j) * 32u;
        while word != 0u {
            write_pair(vec2<u32>(number, 0u), vec2<u32>(block * 256u + row, column + firstTrailingBit(word)));
            number += 1u;
            word &= word - 1u;
        }
    }
}
