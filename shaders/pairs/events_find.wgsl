// events_find: where each pair of a step was in the list of the last step, and which pairs of that list were found.
//
// Reads   step_params
//         step_counts       pair_count, last_count, generation_count
//         pairs             [pair_count] of the step, in canonical order
//         last_pairs        [last_count] of the last step, in canonical order
//         event_ends        of events_ends
//         names             [box_count] NAMING_WAS: the index that each box had; NAMING_GENERATIONS: its generation; or nothing that is read
//         last_generations  [generation_count] of the last step that had some; NAMING_GENERATIONS only
// Writes  before            [pair_count] places in the last list, or EVENT_CREATED, as up to the next multiple of EVENT_RUN
// Changes found             [last_count] bits, zero at first
// An invocation per EVENT_RUN pairs. Both lists ascend: unless boxes moved in the array, the pairs of a span lie between its ends. Where
// little changed, each is as far behind the first end as behind the first pair. Pairs that are not are looked for one after the other,
// by bisection behind the one before; where boxes moved, in the place behind it first, and then in the whole list.
// Source: the binary searches of a merge path, Odeh, Green, Mwassi, Shmueli, Birk 2012, Merge path.

@group(0) @binding(0) var<storage, read> step_counts: StepCounts;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> last_pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> names: array<u32>;
@group(0) @binding(4) var<storage, read> last_generations: array<u32>;
@group(0) @binding(5) var<storage, read> event_ends: array<u32>;
@group(0) @binding(6) var<storage, read_write> before: array<u32>;
@group(0) @binding(7) var<storage, read_write> found: array<atomic<u32>>;
@group(0) @binding(8) var<uniform> step_params: StepParams;

// Returns whether boxes moved in the array.
fn is_renamed() -> bool {
    return step_params.naming == NAMING_WAS;
}

// Returns the index that a box had in the last step, or EVENT_CREATED where it is new.
fn name_of(i: u32) -> u32 {
    if is_renamed() {
        return names[i];
    }
    var name = i;
    if step_params.naming == NAMING_GENERATIONS && i < step_counts.generation_count {
        name = select(EVENT_CREATED, i, last_generations[i] == names[i]);
    }
    return name;
}

// Returns a pair by the indices that its boxes had in the last step; EVENT_CREATED is the second where one is new. In a join, the second
// box is of a set that stays.
fn named(pair: vec2<u32>) -> vec2<u32> {
    let a = name_of(pair.x);
    if step_params.is_join != 0u {
        return select(vec2<u32>(a, pair.y), vec2<u32>(0u, EVENT_CREATED), a == EVENT_CREATED);
    }
    let b = name_of(pair.y);
    return vec2<u32>(min(a, b), max(a, b));
}

@compute @workgroup_size(256)
fn events_find(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group_index(group, groups) * 256u + local) * EVENT_RUN;
    if first >= step_counts.pair_count {
        return;
    }
    var ends = vec2<u32>(0u, step_counts.last_count);
    if !is_renamed() {
        ends = vec2<u32>(event_ends[first / EVENT_SPAN], event_ends[first / EVENT_SPAN + 1u]);
    }
    let count = min(EVENT_RUN, step_counts.pair_count - first);
    let likely = select(ends.x + first % EVENT_SPAN, first, is_renamed());
    var k = 0u;
    while k < min(count, ends.y - min(likely, ends.y)) && all(last_pairs[likely + k] == named(pairs[first + k])) {
        before[first + k] = likely + k;
        k += 1u;
    }
    let bits = (1u << k) - 1u;
    note_found(likely / 32u, bits << (likely % 32u));
    if likely % 32u + k > 32u {
        note_found(likely / 32u + 1u, bits >> (32u - likely % 32u));
    }
    look_for(first + k, first + count, ends);
    // They are read four at a time.
    for (var i = first + count; i < first + EVENT_RUN; i += 1u) {
        before[i] = EVENT_CREATED;
    }
}

// Takes note of pairs of the last list, 32 from this word on.
fn note_found(word: u32, bits: u32) {
    if bits != 0u {
        atomicOr(&found[word], bits);
    }
}

// Looks for pairs from one place to another, one after the other, between these ends of the last list.
fn look_for(first: u32, behind: u32, ends: vec2<u32>) {
    // What comes before the place of a pair is below all that follow; unless boxes moved in the array, where names do not ascend: there
    // most are next to each other all the same.
    var low = ends.x;
    var next = ends.y;
    for (var i = first; i < behind; i += 1u) {
        let pair = named(pairs[i]);
        var place = EVENT_CREATED;
        if pair.y != EVENT_CREATED {
            var looked_up = LookedUp(next, false);
            if is_renamed() && next < ends.y {
                looked_up.is_there = all(last_pairs[next] == pair);
            }
            if !looked_up.is_there {
                looked_up = look_up(pair, low, ends);
            }
            if looked_up.is_there {
                place = looked_up.place;
                note_found(place / 32u, 1u << (place % 32u));
            }
            next = looked_up.place + u32(looked_up.is_there);
            low = select(next, low, is_renamed());
        }
        before[i] = place;
    }
}

struct LookedUp {
    place: u32,               // the first one whose pair is not below the one that is looked up
    is_there: bool,           // that pair is it
}

// Looks a pair up from `low` on within these ends, by bisection. Behind another pair of the run it is likely near: steps that grow
// twofold come first.
fn look_up(pair: vec2<u32>, low: u32, ends: vec2<u32>) -> LookedUp {
    var first = low;
    var end = ends.y;
    var is_there = false;
    // Zero is no limit.
    var most = select(1u, 0u, low == ends.x);
    while first < end {
        let middle = first + min(most - 1u, (end - first) / 2u);
        let other = last_pairs[middle];
        if is_below(other, pair) {
            first = middle + 1u;
            most *= 2u;
        } else {
            end = middle;
            is_there = all(other == pair);
        }
    }
    return LookedUp(first, is_there);
}
