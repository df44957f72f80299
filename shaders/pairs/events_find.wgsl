// events_find: where each pair of a step was in the list of the last step, and which pairs of that list were found.
//
// Reads   step_params
//         step_counts       pair_count, last_count, generation_count
//         pairs             [pair_count] of the step, in canonical order
//         last_pairs        [last_count] of the last step, in canonical order
//         names             [box_count] as step_params.naming says; or nothing that is read
//         last_generations  [generation_count] of the last step that had some
// Writes  before            [pair_count] places in the last list, or EVENT_CREATED
// Changes found             [last_count] bits, zero at first
// A workgroup per EVENT_TILE pairs; an invocation takes four in a row. Both lists ascend: unless boxes moved in the array, the pairs of a workgroup lie between
// those of its first and its last. Each is looked for behind the one before it, and then by bisection there.
// Source: the binary searches of a merge path, Odeh, Green, Mwassi, Shmueli, Birk 2012, Merge path.

@group(0) @binding(0) var<uniform> step_params: StepParams;
@group(0) @binding(1) var<storage, read> step_counts: StepCounts;
@group(0) @binding(2) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> last_pairs: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> names: array<u32>;
@group(0) @binding(5) var<storage, read> last_generations: array<u32>;
@group(0) @binding(6) var<storage, read_write> before: array<u32>;
@group(0) @binding(7) var<storage, read_write> found: array<atomic<u32>>;

// The places in the last list between which the pairs of the workgroup lie.
var<workgroup> ends: array<u32, 2>;

// Returns the index that a box had in the last step, or EVENT_CREATED where it is new.
fn name_of(i: u32) -> u32 {
    var name = i;
    if step_params.naming == NAMING_WAS {
        name = names[i];
    } else if step_params.naming == NAMING_GENERATIONS {
        if i < step_counts.generation_count {
            name = select(EVENT_CREATED, i, last_generations[i] == names[i]);
        }
    }
    return name;
}

// Returns the first place from `low` on, and before `high`, whose pair is not below this one; `high` where there is none.
fn first_not_below(pair: vec2<u32>, low: u32, high: u32) -> u32 {
    var first = low;
    var end = high;
    while first < end {
        let middle = first + (end - first) / 2u;
        let other = last_pairs[middle];
        if (other.x < pair.x) | ((other.x == pair.x) & (other.y < pair.y)) {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}

// Tells whether a pair is at this place of the last list.
fn is_at(place: u32, pair: vec2<u32>) -> bool {
    let other = last_pairs[place];
    return (other.x == pair.x) & (other.y == pair.y);
}

@compute @workgroup_size(256)
fn events_find(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups) * EVENT_TILE;
    let pair_count = step_counts.pair_count;
    let last_count = step_counts.last_count;
    if local < 2u {
        var end = select(0u, last_count, local == 1u);
        if step_params.naming != NAMING_WAS && tile < pair_count {
            let last = min(tile + EVENT_TILE, pair_count) - 1u;
            // Of the last pair the place behind it, if it is there: it may be the last of the other list.
            let place = first_not_below(pairs[select(tile, last, local == 1u)], 0u, last_count);
            end = min(place + local, last_count);
        }
        ends[local] = end;
    }
    workgroupBarrier();
    let first_of_run = tile + local * EVENT_RUN;
    let end_of_run = min(first_of_run + EVENT_RUN, pair_count);
    // Those that are found in a row lie in one word, or in two.
    var word = 0u;
    var bits = 0u;
    // Where little changed, a pair is as far from the first of the workgroup as it was, and behind the one that was before it.
    var likely = ends[0] + first_of_run - tile;
    for (var i = first_of_run; i < end_of_run; i += 1u) {
        let found_here = place_of(pairs[i], likely);
        let place = found_here.x;
        likely = found_here.y;
        before[i] = place;
        if place != EVENT_CREATED {
            if place / 32u != word && bits != 0u {
                atomicOr(&found[word], bits);
                bits = 0u;
            }
            word = place / 32u;
            bits |= 1u << (place % 32u);
        }
    }
    if bits != 0u {
        atomicOr(&found[word], bits);
    }
}

// Returns the place of a pair in the last list, or EVENT_CREATED; and where the next one likely is. It is looked for at `likely` first.
fn place_of(pair: vec2<u32>, likely: u32) -> vec2<u32> {
    let a = name_of(pair.x);
    let b = name_of(pair.y);
    if a == EVENT_CREATED || b == EVENT_CREATED {
        return vec2<u32>(EVENT_CREATED, likely);
    }
    let named = vec2<u32>(min(a, b), max(a, b));
    let end = ends[1];
    var place = likely;
    if likely >= end || !is_at(likely, named) {
        place = first_not_below(named, ends[0], end);
        if place >= end || !is_at(place, named) {
            return vec2<u32>(EVENT_CREATED, place);
        }
    }
    return vec2<u32>(place, place + 1u);
}
