// sweep_scan: where each section of entries stands on the whole path, and how the tests are divided.
//
// Reads   counts       entry_count, giant_count
//         path_sums    [sections] quads and candidates, each as (low, high), of sweep_count
// Writes  path_bases   [sections + 1] quads before each section as (low, high); the last is the length of the path
//         counts       candidates, tiles and blocks of sweep_test and of giants, refused
//         dispatches   of sweep_test, emit_sweep, emit_again, and of giants_test, or giants_rows and giants_join
// One workgroup, in which an invocation loads four sections at once: as many entries as one pass can have are sixteen
// rounds. A tile is TILE_QUADS quads, HIT_TILE tests of a giant, or a group of giants and 256 rows of boxes. A block is
// some tiles in a row, which one workgroup tests, and whose pairs are counted together. There are at most MOST_BLOCKS of the
// sweep, and of giants: where there would be more, a block has 2, 4, 8, ... times as many tiles.
// Source: reduce, then scan, Blelloch 1990.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> counts: Counts;
@group(0) @binding(2) var<storage, read> path_sums: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> path_bases: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> dispatches: Dispatches;

// Returns how many tiles a block has: `least`, or as few times two as leave at most MOST_BLOCKS blocks.
fn tiles_per_block(tiles: u32, least: u32) -> u32 {
    var per_block = least;
    while div_ceil(tiles, per_block) > MOST_BLOCKS {
        per_block *= 2u;
    }
    return per_block;
}

// Returns the least for blocks of the sweep: as few as leave the device enough workgroups, since an invocation looks for its
// place on the path once.
fn least_of_sweep(tiles: u32) -> u32 {
    var per_block = MOST_BLOCK_TILES;
    while per_block > 1u && tiles / per_block < SWEEP_GROUPS {
        per_block /= 2u;
    }
    return per_block;
}

// Returns the quads and candidates of a section; none from `end` on.
fn sums_of(section: u32, end: u32) -> vec4<u32> {
    if section < end {
        return path_sums[section];
    }
    return vec4<u32>(0u);
}

// Writes how many quads are before a section, and returns how many are before the next.
fn place_section(section: u32, end: u32, before: vec2<u32>, quads: vec2<u32>) -> vec2<u32> {
    if section < end {
        path_bases[section] = before;
    }
    return add64(before, quads);
}

@compute @workgroup_size(256)
fn sweep_scan(@builtin(local_invocation_index) local: u32) {
    let entry_count = counts.entry_count;
    let giant_count = counts.giant_count;
    let sections = div_ceil(entry_count, PATH_SECTION);
    let run = div_ceil(sections, 256u);
    let first = local * run;
    let end = min(first + run, sections);
    var mine = vec2<u32>(0u);
    var mine_to_test = vec2<u32>(0u);
    for (var section = first; section < end; section += 4u) {
        let a = sums_of(section, end);
        let b = sums_of(section + 1u, end);
        let c = sums_of(section + 2u, end);
        let d = sums_of(section + 3u, end);
        mine = add64(add64(mine, add64(a.xy, b.xy)), add64(c.xy, d.xy));
        mine_to_test = add64(add64(mine_to_test, add64(a.zw, b.zw)), add64(c.zw, d.zw));
    }
    let all_to_test = scan_workgroup64(local, mine_to_test).total;
    let scan = scan_workgroup64(local, mine);
    var running = scan.before;
    for (var section = first; section < end; section += 4u) {
        let a = sums_of(section, end);
        let b = sums_of(section + 1u, end);
        let c = sums_of(section + 2u, end);
        let d = sums_of(section + 3u, end);
        running = place_section(section, end, running, a.xy);
        running = place_section(section + 1u, end, running, b.xy);
        running = place_section(section + 2u, end, running, c.xy);
        running = place_section(section + 3u, end, running, d.xy);
    }

    if local == 0u {
        let length = scan.total;
        path_bases[sections] = length;
        let giant_tests = mul64(giant_count, params.box_count);
        let candidates = add64(all_to_test, giant_tests);
        let limit = vec2<u32>(params.candidate_limit_low, params.candidate_limit_high);
        let refused = less64(limit, candidates);
        counts.candidate_low = candidates.x;
        counts.candidate_high = candidates.y;
        counts.refused = select(0u, 1u, refused);

        // The host keeps the limit low enough for tiles to be counted in 32 bits.
        let sweep_tiles = select(shift_right64(add64(length, vec2<u32>(TILE_QUADS - 1u, 0u)), TILE_QUADS_BITS).x, 0u, refused);
        // Many giants are joined with rows of boxes; a few are tested against all boxes.
        let row_tiles = div_ceil(rows_of(entry_count, giant_count), 256u);
        let joined_tiles = div_ceil(giant_count, GIANT_GROUP) * row_tiles;
        let is_joined = giant_count >= FEWEST_JOINED && joined_tiles <= params.most_joined_tiles;
        let tested_tiles = giant_count * div_ceil(params.box_count, HIT_TILE);
        let giant_tiles = select(select(tested_tiles, joined_tiles, is_joined), 0u, refused);
        counts.sweep_tiles = sweep_tiles;
        let per_block = tiles_per_block(sweep_tiles, least_of_sweep(sweep_tiles));
        counts.sweep_tiles_per_block = per_block;
        counts.sweep_blocks = div_ceil(sweep_tiles, per_block);
        counts.giant_tiles = giant_tiles;
        counts.giant_tiles_per_block = tiles_per_block(giant_tiles, 1u);
        counts.giant_blocks = div_ceil(giant_tiles, counts.giant_tiles_per_block);
        let is_kept = sweep_tiles <= params.tile_capacity;
        dispatches.sweep_test = dispatch_size(counts.sweep_blocks);
        // One writes the header, whether there are blocks or not.
        dispatches.emit_sweep = dispatch_size(max(counts.sweep_blocks, 1u));
        dispatches.emit_again = dispatch_size(select(counts.sweep_blocks, 0u, is_kept));
        dispatches.giants_test = dispatch_size(select(counts.giant_blocks, 0u, is_joined));
        dispatches.giants_rows = dispatch_size(select(0u, row_tiles, is_joined && !refused));
        dispatches.giants_join = dispatch_size(select(0u, counts.giant_blocks, is_joined));
    }
}
