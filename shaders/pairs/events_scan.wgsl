// events_scan: where the events of each tile go, how many there are, and whether the step counts.
//
// Reads   params, step_params
// Changes event_tiles   [tiles] counts, to sums over the tiles before
//         step_counts   of pair_count, last_count and refused, to all
// Writes  step_sizes    of events_list and events_keep
// One workgroup.
// Source: compaction by a scan of counts, Sengupta, Harris, Zhang, Owens 2007, Scan primitives for GPU computing.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> step_params: StepParams;
@group(0) @binding(2) var<storage, read_write> event_tiles: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> step_counts: StepCounts;
@group(0) @binding(4) var<storage, read_write> step_sizes: StepSizes;

@compute @workgroup_size(256)
fn events_scan(@builtin(local_invocation_index) local: u32) {
    let is_refused = step_counts.refused != 0u;
    let pair_count = step_counts.pair_count;
    let last_count = select(step_counts.last_count, 0u, is_refused);
    let tiles = div_ceil(max(pair_count, last_count), EVENT_BLOCK);
    let run = div_ceil(tiles, 256u);
    let first = local * run;
    let end = min(first + run, tiles);
    var mine = vec4<u32>(0u);
    for (var tile = first; tile < end; tile += 1u) {
        mine += event_tiles[tile];
    }
    let scan = scan_workgroup2(local, mine.xy);
    let lost = scan_workgroup(local, mine.z);
    var running = vec4<u32>(scan.before, lost.before, 0u);
    for (var tile = first; tile < end; tile += 1u) {
        let own = event_tiles[tile];
        event_tiles[tile] = running;
        running += own;
    }

    if local == 0u {
        // As many pairs of the last list were found as pairs found one; unless two boxes were said to be one of the last step.
        let is_one_to_one = pair_count - scan.total.x == last_count - lost.total;
        let is_counted = is_one_to_one && !is_refused;
        step_counts.verdict = select(OVERFLOW_NAMES, step_counts.refused, is_one_to_one);
        step_counts.created = select(0u, scan.total.x, is_counted);
        step_counts.persisting = select(0u, scan.total.y, is_counted);
        step_counts.lost = select(0u, lost.total, is_counted);
        let listed = select(pair_count, max(pair_count, last_count), lost.total != 0u);
        step_sizes.list = dispatch_size(select(0u, div_ceil(listed, EVENT_TILE), is_counted));
        // Where nothing changed, the last list is the list.
        let is_same = scan.total.x == 0u && lost.total == 0u && step_params.naming != NAMING_WAS;
        let kept_pairs = select(pair_count, 0u, is_same);
        let kept_names = select(0u, params.box_count, step_params.naming == NAMING_GENERATIONS);
        let kept = max(1u, div_ceil(max(kept_pairs, kept_names), EVENT_TILE));
        step_sizes.keep = dispatch_size(select(0u, kept, is_counted));
    }
}
