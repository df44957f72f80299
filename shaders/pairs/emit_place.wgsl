// emit_place: where the pairs of each run go within its block of tiles, and how many pairs the block has.
//
// Reads   params, counts
//         runs         [tiles * 256], of sweep_test, as far as they were kept
// Writes  run_offsets  [tiles * 256] pairs before the run within its block
// Changes block_hits   [sweep_blocks] pairs in tiles that were not kept, to all pairs
// One workgroup per block; each invocation adds up PLACE_RUNS runs in a row.
// Source: compaction by a scan of counts, Sengupta, Harris, Zhang, Owens 2007, Scan primitives for GPU computing.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> runs: array<Run>;
@group(0) @binding(3) var<storage, read_write> run_offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> block_hits: array<u32>;

@compute @workgroup_size(256)
fn emit_place(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let first = block * counts.sweep_tiles_per_block;
    let kept = min(counts.sweep_tiles, params.tile_capacity);
    let end = min(first + counts.sweep_tiles_per_block, kept);
    var running = 0u;
    for (var tile = first; tile < end; tile += PLACE_RUNS) {
        let first_run = tile * 256u + local * PLACE_RUNS;
        let runs_end = min(first_run + PLACE_RUNS, end * 256u);
        var sum = 0u;
        for (var i = first_run; i < runs_end; i += 1u) {
            run_offsets[i] = sum;
            sum += countOneBits(runs[i].hits);
        }
        let scan = scan_workgroup(local, sum);
        for (var i = first_run; i < runs_end; i += 1u) {
            run_offsets[i] += running + scan.before;
        }
        running += scan.total;
    }
    if local == 0u && block < counts.sweep_blocks {
        block_hits[block] += running;
    }
}
