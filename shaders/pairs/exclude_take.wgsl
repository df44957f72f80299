// exclude_take: takes the pairs that are to be excluded apart for the sort, which sorts by the larger index and then, stably, by the smaller
// one. Those that searches never report by themselves are listed together: the included ones come behind.
//
// Reads   change    how many boxes and included pairs there are
//         counts    written
//         given     [written - change.include_count] two boxes, in any order
//         included  [change.include_count] (a, b), a < b
// Writes  keys      [written] b
//         values    [written] a; change.box_count for both where there is no such pair of boxes

@group(0) @binding(0) var<uniform> change: ExcludeChange;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> given: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> included: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> values: array<u32>;

@compute @workgroup_size(256)
fn exclude_take(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= counts.written {
        return;
    }
    let excluded = counts.written - change.include_count;
    var pair = vec2<u32>(0u);
    if i < excluded {
        pair = given[i];
    } else {
        pair = included[i - excluded];
    }
    let low = min(pair.x, pair.y);
    let high = max(pair.x, pair.y);
    let is_pair = low < high && high < change.box_count;
    keys[i] = select(change.box_count, high, is_pair);
    values[i] = select(change.box_count, low, is_pair);
}
