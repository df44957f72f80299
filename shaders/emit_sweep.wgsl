// emit_sweep: writes the pairs that sweep_test found, those numbers of them that lie in the window.
//
// Reads   params, window, boxes, counts, entries, steps, path_bases
//         hit_words      [tiles * 256]; the bits of tiles that had no room are found again
//         block_offsets  [sweep_blocks] pairs before each workgroup, of emit_scan
// Writes  pairs          [window.capacity] (a, b), a < b, in the order of the path
// Any window, as often as asked: together they are the whole list, each pair once.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read> boxes: array<u32>;
@group(0) @binding(3) var<storage, read> counts: Counts;
@group(0) @binding(4) var<storage, read> entries: array<u32>;
@group(0) @binding(5) var<storage, read> steps: array<Step>;
@group(0) @binding(6) var<storage, read> path_bases: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read> hit_words: array<u32>;
@group(0) @binding(8) var<storage, read> block_offsets: array<vec2<u32>>;
@group(0) @binding(9) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn emit_sweep(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    if block >= counts.sweep_blocks {
        return;
    }
    var next = block_offsets[block];
    if !meets_window(next, sub64(block_offsets[block + 1u], next).x) {
        return;
    }
    let first = block * counts.sweep_tiles_per_block;
    let end = min(first + counts.sweep_tiles_per_block, counts.sweep_tiles);
    for (var tile = first; tile < end; tile += 1u) {
        let at = add64(mul64(tile, HIT_TILE), vec2<u32>(local * 32u, 0u));
        var word = 0u;
        if tile < params.hit_tile_capacity {
            word = hit_words[tile * 256u + local];
        } else {
            word = test_items(at);
        }
        let scan = scan_workgroup(local, vec4<u32>(countOneBits(word), 0u, 0u, 0u));
        if word != 0u {
            var number = add64(next, vec2<u32>(scan.before.x, 0u));
            var walk = walk_at(at);
            while word != 0u {
                if (word & 1u) == 1u {
                    write_pair(number, entries[walk.rank] & ENTRY_BOX, entries[walk.rank + walk.item] & ENTRY_BOX);
                    number = add64(number, vec2<u32>(1u, 0u));
                }
                walk_on(&walk);
                word >>= 1u;
            }
        }
        next = add64(next, vec2<u32>(scan.total.x, 0u));
    }
}
