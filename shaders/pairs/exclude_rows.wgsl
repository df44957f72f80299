// exclude_rows: lists by box the pairs that the tests of a search skip, for is_listed of filters.wgsl.
//
// Reads   change    the places of rows and others, and the box count
//         counts    written
//         keys      [written] a, ascending
//         values    [written] b, ascending where a is equal; a pair may come twice
// Writes  words     [change.box_count + 1] the rows: the count of pairs with a smaller a; then [written] the others: b
//
// One invocation per row, and per pair.

@group(0) @binding(0) var<uniform> change: ExcludeChange;
@group(0) @binding(1) var<storage, read> counts: Counts;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(256)
fn exclude_rows(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i <= change.box_count {
        words[change.rows + i] = pairs_before(i);
    }
    if i < counts.written {
        words[change.others + i] = values[i];
    }
}

// Returns the count of pairs whose smaller index is below `a`.
fn pairs_before(a: u32) -> u32 {
    var first = 0u;
    var end = counts.written;
    while first < end {
        let middle = first + (end - first) / 2u;
        if keys[middle] < a {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}
