// exclude_split: splits the pairs to exclude into keys and values for the sort. The sort orders them by the larger
// index, then stably by the smaller index. The included pairs follow the excluded pairs, since the tests of a search
// skip these too.
//
// Reads   change    the counts of boxes and included pairs, and the most pairs to exclude
//         count     the pair count, first; only if change.is_stored
//         external_pairs  two boxes each, in any order
//         included  [change.include_count] (a, b), a < b
// Writes  counts    for the sort; written: those pairs, and the included ones
//         refused   1 if there are more pairs than the capacity: then none is excluded, and searches are refused
//         keys      [written] b
//         values    [written] a; change.box_count for both if there is no such pair of boxes
//
// One invocation per pair of the capacity.

@group(0) @binding(0) var<uniform> change: ExcludeChange;
@group(0) @binding(1) var<storage, read> count: array<u32>;
@group(0) @binding(2) var<storage, read> external_pairs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> included: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> counts: Counts;
@group(0) @binding(5) var<storage, read_write> refused: array<u32>;
@group(0) @binding(6) var<storage, read_write> keys: array<u32>;
@group(0) @binding(7) var<storage, read_write> values: array<u32>;

@compute @workgroup_size(256)
fn exclude_split(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    var pairs = change.at_most;
    if change.is_stored == 1u {
        pairs = count[0];
    }
    let is_beyond = pairs > change.at_most;
    let excluded = select(pairs, 0u, is_beyond);
    let written = excluded + change.include_count;
    if i == 0u {
        // The sort reads entry_count too, but sorts `written` pairs.
        counts.entry_count = 0u;
        counts.written = written;
        refused[0] = select(0u, 1u, is_beyond);
    }
    if i >= written {
        return;
    }
    var pair = vec2<u32>(0u);
    if i < excluded {
        pair = external_pairs[i];
    } else {
        pair = included[i - excluded];
    }
    let low = min(pair.x, pair.y);
    let high = max(pair.x, pair.y);
    let is_pair = low < high && high < change.box_count;
    keys[i] = select(change.box_count, high, is_pair);
    values[i] = select(change.box_count, low, is_pair);
}
