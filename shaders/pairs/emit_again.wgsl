// emit_again: repeats tests whose results were only counted, and writes their pairs in the window. These are the pairs
// of giants, and the pairs of sweep tiles whose runs were not retained.
//
// Reads   params, window, boxes, counts, entries, stretches, footprints, path_bases, as giants_test and sweep_test
//         block_hits     [HIT_SUMS] sums, then [giant_blocks + sweep_blocks] pairs of each block
// Writes  pairs          [window.capacity] (a, b), a < b: of giants tile by tile and in it by rows, before all of
//                        emit_sweep; then in the order of the path
//
// The kernel is separate from emit_sweep, since it needs many registers for a rare case. There is one workgroup per
// block from counts.first_block on, blocks of giants first. If all runs of the sweep were retained, there are no
// workgroups for the sweep. A workgroup of the sweep processes its tiles from last to first, so it needs no pair count
// of the retained tiles before them.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<uniform> counts: Counts;
@group(0) @binding(3) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> entries: array<u32>;
@group(0) @binding(5) var<storage, read> stretches: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> footprints: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> path_bases: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read> block_hits: array<u32>;
@group(0) @binding(9) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn emit_again(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let at_block = counts.first_block + group_index(group, groups);
    if at_block < counts.giant_blocks {
        list_giants(at_block, local);
    } else if at_block < counts.giant_blocks + counts.sweep_blocks {
        list_again(at_block, local);
    }
}

// Writes the pairs of a block of the sweep. Every invocation of the workgroup must call it.
fn list_again(at_block: u32, local: u32) {
    let block = at_block - counts.giant_blocks;
    let start = pairs_before(at_block, local);
    if !meets_window(start, hits_of(at_block)) {
        return;
    }
    var next = add64(start, vec2<u32>(hits_of(at_block), 0u));
    let first = max(block * counts.sweep_tiles_per_block, params.tile_capacity);
    var tile = min((block + 1u) * counts.sweep_tiles_per_block, counts.sweep_tiles);
    while tile > first {
        tile -= 1u;
        let start_of_tile = mul64(tile, TILE_QUADS);
        find_sections(start_of_tile, local);
        var walk = walk_from(add64(start_of_tile, vec2<u32>(local * RUN_QUADS, 0u)), RUN_QUADS);
        let found = survey(&walk);
        let run = found.run;
        var hits = exact_hits(found);
        let scan = scan_workgroup(local, countOneBits(hits));
        // The pair count of the tile, loaded so that the compiler knows it as uniform.
        next = sub64(next, vec2<u32>(workgroupUniformLoad(&scan_bases[16]).x, 0u));
        var at = add64(next, vec2<u32>(scan.before, 0u));
        for (; hits != 0u; hits &= hits - 1u) {
            let ranks = ranks_of(run, firstTrailingBit(hits));
            let a = entries[ranks.x] & ENTRY_BOX;
            let b = entries[ranks.y] & ENTRY_BOX;
            write_pair(at, vec2<u32>(min(a, b), max(a, b)));
            at = add64(at, vec2<u32>(1u, 0u));
        }
        if !less64(vec2<u32>(window.first_low, window.first_high), next) {
            // This tile begins at or before the window, so all tiles before it have no pairs in the window.
            return;
        }
    }
}
