// events_keep: what the next step is compared with.
//
// Reads   params, step_params
//         pairs             [pair_count] of the step
//         names             [box_count] generations, where step_params.naming says so
// Changes step_counts       last_count, generation_count
// Writes  last_pairs        [pair_count]
//         last_generations  [box_count]
// A workgroup per EVENT_TILE pairs or boxes, one at least.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> step_params: StepParams;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> names: array<u32>;
@group(0) @binding(4) var<storage, read_write> step_counts: StepCounts;
@group(0) @binding(5) var<storage, read_write> last_pairs: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> last_generations: array<u32>;

@compute @workgroup_size(256)
fn events_keep(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups) * EVENT_TILE;
    let pair_count = step_counts.pair_count;
    let has_generations = step_params.naming == NAMING_GENERATIONS;
    let box_count = select(0u, params.box_count, has_generations);
    for (var k = local; k < EVENT_TILE; k += 256u) {
        let i = tile + k;
        if i < pair_count {
            last_pairs[i] = pairs[i];
        }
        if i < box_count {
            last_generations[i] = names[i];
        }
    }
    if tile + local == 0u {
        step_counts.last_count = pair_count;
        if has_generations {
            step_counts.generation_count = box_count;
        }
    }
}
