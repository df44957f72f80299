// emit_place: where the pairs of each tile go within its block of tiles, and how many pairs the block has.
//
// Reads   params, counts
//         runs          [tiles * RUN_WORDS * 256], of sweep_test, as far as they were kept
// Writes  tile_offsets  [tiles] pairs before the tile within its block
// Changes block_hits    [sweep_blocks] pairs in tiles that were not kept, to all pairs
// One workgroup per block; an invocation takes one run of each of four tiles at a time, so that neighbours read
// neighbouring runs. A tile has at most 8,192 pairs: the counts of two tiles are scanned in one word.
// Source: compaction by a scan of counts, Sengupta, Harris, Zhang, Owens 2007, Scan primitives for GPU computing.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> runs: array<u32>;
@group(0) @binding(3) var<storage, read_write> tile_offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> block_hits: array<u32>;

// Counts the pairs of an invocation's run in a tile.
fn hits_in(tile: u32, end: u32, local: u32) -> u32 {
    if tile >= end {
        return 0u;
    }
    return countOneBits(runs[tile * (RUN_WORDS * 256u) + local]);
}

// Writes where the pairs of a tile go.
fn place_tile(tile: u32, end: u32, local: u32, offset: u32) {
    if tile < end && local == 0u {
        tile_offsets[tile] = offset;
    }
}

// Places four tiles behind `before` pairs of the block, and returns the pairs before the next tile. Every invocation of the
// workgroup has to call.
fn place_tiles(tile: u32, end: u32, local: u32, before: u32) -> u32 {
    let first = vec2<u32>(hits_in(tile, end, local), hits_in(tile + 2u, end, local));
    let second = vec2<u32>(hits_in(tile + 1u, end, local), hits_in(tile + 3u, end, local));
    let scan = scan_workgroup2(local, first | (second << vec2<u32>(16u)));
    let low = scan.total & vec2<u32>(0xffffu);
    let high = scan.total >> vec2<u32>(16u);
    let starts = before + vec4<u32>(0u, low.x, low.x + high.x, low.x + high.x + low.y);
    place_tile(tile, end, local, starts.x);
    place_tile(tile + 1u, end, local, starts.y);
    place_tile(tile + 2u, end, local, starts.z);
    place_tile(tile + 3u, end, local, starts.w);
    return starts.w + high.y;
}

@compute @workgroup_size(256)
fn emit_place(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let first = block * counts.sweep_tiles_per_block;
    // Before the first tile, where none was kept.
    let end = min(first + counts.sweep_tiles_per_block, min(counts.sweep_tiles, params.tile_capacity));
    var running = 0u;
    for (var tile = first; tile < end; tile += 4u) {
        running = place_tiles(tile, end, local, running);
    }
    // A workgroup beyond the last block has no tiles.
    if local == 0u && block < counts.sweep_blocks {
        block_hits[block] += running;
    }
}
