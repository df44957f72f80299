// events_store: stores the step for the comparison with the next one.
//
// Reads   params, step_params
//         header       of the list of the step
//         pairs        of the step
//         names        [box_count] generations, if step_params.naming is NAMING_GENERATIONS
//         event_marks  totals of events_list
// Writes  last_pairs   pairs of the step, if they differ from the pairs of the last one
// Changes last_step    counts of pairs and of generations; the generations
//
// One workgroup per EVENT_TILE pairs or boxes, at least one.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> step_params: StepParams;
@group(0) @binding(2) var<storage, read> header: QueryHeader;
@group(0) @binding(3) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> names: array<u32>;
@group(0) @binding(5) var<storage, read> event_marks: array<u32>;
@group(0) @binding(6) var<storage, read_write> last_pairs: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> last_step: array<u32>;

@compute @workgroup_size(256)
fn events_store(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    // A discarded step does not replace the last step.
    if event_marks[3] != 0u {
        return;
    }
    let tile = group_index(group, groups) * EVENT_TILE;
    let is_same = event_marks[0] == 0u && event_marks[2] == 0u && step_params.naming != NAMING_WAS;
    let stored_pairs = select(header.written, 0u, is_same);
    let has_generations = step_params.naming == NAMING_GENERATIONS;
    let stored_names = select(0u, params.box_count, has_generations);
    for (var k = local; k < EVENT_TILE; k += 256u) {
        let i = tile + k;
        if i < stored_pairs {
            last_pairs[i] = pairs[i];
        }
        if i < stored_names {
            last_step[EVENT_GENERATIONS + i] = names[i];
        }
    }
    if tile + local == 0u {
        last_step[0] = header.written;
        if has_generations {
            last_step[1] = params.box_count;
        }
    }
}
