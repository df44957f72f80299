// events_begin: how many pairs a step has, and the sizes of what follows.
//
// Reads   step_params
//         header        of the list of the step; that of pairs has the same first fields
// Changes step_counts   pair_count, refused
// Writes  step_sizes    of events_ends, events_find and events_count
// One invocation.

@group(0) @binding(0) var<uniform> step_params: StepParams;
@group(0) @binding(1) var<storage, read> header: QueryHeader;
@group(0) @binding(2) var<storage, read_write> step_counts: StepCounts;
@group(0) @binding(3) var<storage, read_write> step_sizes: StepSizes;

@compute @workgroup_size(1)
fn events_begin() {
    // A list that is not whole, or that was refused, is not compared: the step does not count. Nor where a memory budget leaves
    // less room for events than for pairs.
    var refused = header.overflow;
    if refused == 0u && header.written > step_params.capacity {
        refused = OVERFLOW_PAIRS;
    }
    // The list of an unfinished query is empty, and its pairs would be lost.
    if step_params.is_join != 0u && header.unfinished > 0u {
        refused = OVERFLOW_UNFINISHED;
    }
    let pair_count = select(header.written, 0u, refused != 0u);
    let last_count = select(step_counts.last_count, 0u, refused != 0u);
    step_counts.pair_count = pair_count;
    step_counts.refused = refused;
    // One end more than there are spans. Where boxes moved in the array, nothing lies between them.
    let ends = div_ceil(pair_count, EVENT_SPAN) / 256u + 1u;
    step_sizes.ends = dispatch_size(select(ends, 0u, step_params.naming == NAMING_WAS));
    step_sizes.find = dispatch_size(div_ceil(pair_count, EVENT_TILE));
    step_sizes.count = dispatch_size(div_ceil(max(pair_count, last_count), EVENT_BLOCK));
}
