// emit_place: where the pairs of each tile go within its block of tiles, and how many pairs the block has.
//
// Reads   params, counts
//         runs         [tiles * RUN_WORDS * 256], of sweep_test, as far as they were kept
// Writes  run_offsets  [tiles * 256] pairs before the run within its block; on a GPU those of the first run of each tile
//                      alone, since emit_sweep has all hits of a tile at hand there
// Changes block_hits   [sweep_blocks] pairs in tiles that were not kept, to all pairs
// On a GPU one workgroup per block; an invocation takes one run of each of four tiles at a time, so that neighbours read
// neighbouring runs. A tile has at most 8,192 pairs: the counts of two tiles are scanned in one word. On a software
// adapter, which pays for each barrier, one invocation takes all runs of a block, one after the other, and a workgroup as many
// blocks as a processor has lanes: for a lane that has nothing to do it takes as long.
// Source: compaction by a scan of counts, Sengupta, Harris, Zhang, Owens 2007, Scan primitives for GPU computing.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> runs: array<u32>;
@group(0) @binding(3) var<storage, read_write> run_offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> block_hits: array<u32>;

override ON_GPU: bool = false;

// On a software adapter, the blocks of a workgroup. The workgroups that are too many then have none.
const TURN_BLOCKS: u32 = 8u;

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
        run_offsets[tile * 256u] = offset;
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

// Places four runs behind `before` pairs, and returns the pairs before the next run. `at` is where the hits of the first one
// are, and `first` its number.
fn place_four(at: u32, first: u32, before: u32) -> u32 {
    let a = before + countOneBits(runs[at]);
    let b = a + countOneBits(runs[at + 1u]);
    let c = b + countOneBits(runs[at + 2u]);
    let d = c + countOneBits(runs[at + 3u]);
    run_offsets[first] = before;
    run_offsets[first + 1u] = a;
    run_offsets[first + 2u] = b;
    run_offsets[first + 3u] = c;
    return d;
}

// Places the runs of some tiles one after the other, 32 a turn, and returns how many pairs they have.
fn place_in_turn(first_tile: u32, end_tile: u32) -> u32 {
    var running = 0u;
    for (var turn = 8u * first_tile; turn < 8u * end_tile; turn += 1u) {
        let first = 32u * turn;
        let at = turn / 8u * (RUN_WORDS * 256u) + turn % 8u * 32u;
        running = place_four(at, first, running);
        running = place_four(at + 4u, first + 4u, running);
        running = place_four(at + 8u, first + 8u, running);
        running = place_four(at + 12u, first + 12u, running);
        running = place_four(at + 16u, first + 16u, running);
        running = place_four(at + 20u, first + 20u, running);
        running = place_four(at + 24u, first + 24u, running);
        running = place_four(at + 28u, first + 28u, running);
    }
    return running;
}

// Places the tiles of a block. Every invocation of the workgroup has to call.
fn place_block(block: u32, local: u32) {
    let first = block * counts.sweep_tiles_per_block;
    let end = end_of_block(first);
    var running = 0u;
    for (var tile = first; tile < end; tile += 4u) {
        running = place_tiles(tile, end, local, running);
    }
    // A workgroup beyond the last block has no tiles.
    if local == 0u && block < counts.sweep_blocks {
        block_hits[block] += running;
    }
}

// Places the runs of a block, one after the other.
fn place_block_in_turn(block: u32) {
    let first = block * counts.sweep_tiles_per_block;
    let end = end_of_block(first);
    if block < counts.sweep_blocks && first < end {
        block_hits[block] += place_in_turn(first, end);
    }
}

// Returns where the tiles of a block that were kept end; before its first one, where none was.
fn end_of_block(first: u32) -> u32 {
    return min(first + counts.sweep_tiles_per_block, min(counts.sweep_tiles, params.tile_capacity));
}

@compute @workgroup_size(256)
fn emit_place(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = group_index(group, groups);
    if ON_GPU {
        place_block(index, local);
    } else if local < TURN_BLOCKS {
        place_block_in_turn(index * TURN_BLOCKS + local);
    }
}
