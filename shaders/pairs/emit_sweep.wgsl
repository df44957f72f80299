// emit_sweep: writes the pairs in the window that sweep_test stored, and the pair count.
//
// Reads   params, window, entries
//         runs           [tiles * RUN_U32_COUNT * 256], of sweep_test
//         block_hits     [HIT_SUMS] sums, then [giant_blocks + sweep_blocks] pairs of each block (hit_sums.wgsl)
// Writes  pairs          [window.capacity] (a, b), a < b, in the order of the path, behind those of giants
//         counts         pairs, written; the included ones come behind all others
//         header         for a consumer on the GPU
//         arguments      of its indirect calls
//
// One workgroup per block from counts.first_block on. The first workgroup also writes the counts, even if there is no
// block. The kernel can be dispatched for any windows; with emit_again, consecutive windows give the whole list, each
// pair once. A workgroup distributes the pairs of each tile evenly over its invocations, since runs have different pair
// counts. So writes are coalesced.
//
// Source: work divided evenly after a scan, as in Baxter, Modern GPU, 2013.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read_write> counts: Counts;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> runs: array<u32>;
@group(0) @binding(5) var<storage, read> block_hits: array<u32>;
@group(0) @binding(6) var<storage, read_write> header: PairHeader;
@group(0) @binding(7) var<storage, read_write> arguments: PairArguments;
@group(0) @binding(8) var<storage, read_write> pairs: array<vec2<u32>>;

// Pairs that a workgroup writes at once: four per invocation.
const SHARE: u32 = 1024u;

// The run and the bit of each shared pair; and the runs.
var<workgroup> shared_hits: array<u32, SHARE>;
var<workgroup> tile_runs: array<vec4<u32>, 256>;

// Loads a run.
fn run_at(tile: u32, local: u32) -> Run {
    let at = tile * (RUN_U32_COUNT * 256u) + local;
    return run_from(runs[at], runs[at + 256u], runs[at + 512u]);
}

// Stores run and bit of the pairs of a run that are among the SHARE pairs of the tile from pair `first` on. `before` is
// the pair count of the tile before the run.
fn share_run(local: u32, run_hits: u32, before: u32, first: u32) {
    if before >= first + SHARE || before + countOneBits(run_hits) <= first {
        return;
    }
    var at = before - first;
    for (var hits = run_hits; hits != 0u; hits &= hits - 1u) {
        if at < SHARE {
            shared_hits[at] = (local << 5u) | firstTrailingBit(hits);
        }
        at += 1u;
    }
}

// Loads the entries of a shared pair.
fn shared_entries(at: u32, is_written: bool) -> vec2<u32> {
    if !is_written {
        return vec2<u32>(0u);
    }
    let hit = shared_hits[at];
    let run = tile_runs[hit >> 5u];
    let ranks = ranks_of(Run(run.x, run.y, run.z, run.w), hit & 31u);
    return vec2<u32>(entries[ranks.x], entries[ranks.y]);
}

// Writes the boxes of two entries, the smaller index first.
fn write_shared(at: u32, own: vec2<u32>, is_written: bool) {
    if is_written {
        let boxes = own & vec2<u32>(ENTRY_BOX);
        pairs[at] = vec2<u32>(min(boxes.x, boxes.y), max(boxes.x, boxes.y));
    }
}

// Writes the pairs of a tile. The first pair of the tile is pair `number` of the list. Adjacent invocations write
// adjacent pairs. Returns the pair count of the tile. Every invocation of the workgroup must call it.
fn write_tile(tile: u32, local: u32, number: vec2<u32>) -> u32 {
    let run = run_at(tile, local);
    let scan = scan_workgroup(local, countOneBits(run.hits));
    // The pair count of the tile, loaded so that the compiler knows it as uniform.
    let count = workgroupUniformLoad(&scan_bases[16]).x;
    let part = part_in_window(number, count);
    let to = number.x - window.first_low;
    tile_runs[local] = vec4<u32>(run.hits, run.first_rank, run.first_quad, run.turns);
    for (var first = 0u; first < count; first += SHARE) {
        share_run(local, run.hits, scan.before, first);
        workgroupBarrier();
        let mine = vec4<u32>(local) + vec4<u32>(0u, 256u, 512u, 768u);
        let is_written = (first + mine < vec4<u32>(count)) & (first + mine - part.x < vec4<u32>(part.y));
        let a = shared_entries(mine.x, is_written.x);
        let b = shared_entries(mine.y, is_written.y);
        let c = shared_entries(mine.z, is_written.z);
        let d = shared_entries(mine.w, is_written.w);
        write_shared(to + first + mine.x, a, is_written.x);
        write_shared(to + first + mine.y, b, is_written.y);
        write_shared(to + first + mine.z, c, is_written.z);
        write_shared(to + first + mine.w, d, is_written.w);
        workgroupBarrier();
    }
    return count;
}

// The fields of `counts` that the workgroup reads.
struct Blocks {
    tiles: u32,
    tiles_each: u32,
    count: u32,
    giant_count: u32,
    first: u32,
}

var<workgroup> all_blocks: Blocks;

@compute @workgroup_size(256)
fn emit_sweep(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if local == 0u {
        let first = max(counts.first_block, counts.giant_blocks) - counts.giant_blocks;
        all_blocks = Blocks(counts.sweep_tiles, counts.sweep_tiles_per_block, counts.sweep_blocks, counts.giant_blocks, first);
    }
    let blocks = workgroupUniformLoad(&all_blocks);
    let nth = group_index(group, groups);
    let block = blocks.first + nth;
    if nth == 0u {
        let found = pairs_before(blocks.giant_count + blocks.count, local);
        if local == 0u {
            write_header(add64(found, vec2<u32>(params.include_count, 0u)));
        }
    }
    if block >= blocks.count {
        return;
    }
    var next = pairs_before(blocks.giant_count + block, local);
    if !meets_window(next, hits_of(blocks.giant_count + block)) {
        return;
    }
    let first = block * blocks.tiles_each;
    let end = min(first + blocks.tiles_each, min(blocks.tiles, params.tile_capacity));
    for (var tile = first; tile < end; tile += 1u) {
        next = add64(next, vec2<u32>(write_tile(tile, local, next), 0u));
    }
}
