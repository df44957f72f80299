// emit_scan: the number of pairs, where each block's pairs start, and how many of them the window takes.
//
// Reads   params, window
//         block_hits     [sweep_blocks + giant_blocks], of emit_place, and of giants_test or giants_join
// Writes  hit_offsets    [the same + 1] pairs before, as (low, high); the last is the number of pairs that were found
//         counts         pairs, written; the included ones come behind those that were found
//         header         for a consumer on the GPU
//         arguments      of its indirect calls
//         dispatches     of emit_again
// One workgroup.
// Source: as that of emit_place.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read> block_hits: array<u32>;
@group(0) @binding(3) var<storage, read_write> hit_offsets: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> counts: Counts;
@group(0) @binding(5) var<storage, read_write> header: PairHeader;
@group(0) @binding(6) var<storage, read_write> arguments: PairArguments;
@group(0) @binding(7) var<storage, read_write> dispatches: Dispatches;

@compute @workgroup_size(256)
fn emit_scan(@builtin(local_invocation_index) local: u32) {
    let block_count = counts.sweep_blocks + counts.giant_blocks;
    let run = div_ceil(block_count, 256u);
    let first = local * run;
    let end = min(first + run, block_count);
    var mine = vec2<u32>(0u);
    for (var block = first; block < end; block += 1u) {
        mine = add64(mine, vec2<u32>(block_hits[block], 0u));
    }
    let scan = scan_workgroup64(local, mine);
    var running = scan.before;
    for (var block = first; block < end; block += 1u) {
        hit_offsets[block] = running;
        running = add64(running, vec2<u32>(block_hits[block], 0u));
    }

    if local == 0u {
        hit_offsets[block_count] = scan.total;
        write_header(add64(scan.total, vec2<u32>(params.include_count, 0u)));
        let is_kept = counts.sweep_tiles <= params.tile_capacity;
        dispatches.emit_again = dispatch_size(select(counts.sweep_blocks, 0u, is_kept));
    }
}
