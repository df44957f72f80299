// emit_sweep: writes the pairs that sweep_test found and kept, and that lie in the window.
//
// Reads   params, window, counts, entries
//         runs           [tiles * 256], of sweep_test
//         run_offsets    [tiles * 256], of emit_place
//         hit_offsets    [sweep_blocks] pairs before each block of tiles, of emit_scan
// Writes  pairs          [window.capacity] (a, b), a < b, in the order of the path
// Any window, as often as asked: together with those of emit_again they are the whole list, each pair once.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<uniform> counts: Counts;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> runs: array<Run>;
@group(0) @binding(5) var<storage, read> run_offsets: array<u32>;
@group(0) @binding(6) var<storage, read> hit_offsets: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> pairs: array<vec2<u32>>;

@compute @workgroup_size(256)
fn emit_sweep(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups);
    if tile >= min(counts.sweep_tiles, params.tile_capacity) {
        return;
    }
    let at = tile * 256u + local;
    let run = runs[at];
    let number = add64(hit_offsets[tile / counts.sweep_tiles_per_block], vec2<u32>(run_offsets[at], 0u));
    let part = part_in_window(number, countOneBits(run.hits));
    let to = number.x - window.first_low;
    var k = 0u;
    for (var hits = run.hits; hits != 0u; hits &= hits - 1u) {
        if k - part.x < part.y {
            pairs[to + k] = pair_at(ranks_of(run, firstTrailingBit(hits)));
        }
        k += 1u;
    }
}
