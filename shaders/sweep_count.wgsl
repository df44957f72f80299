// sweep_count: how long the path of the sweep is, and where on it each entry stands.
//
// Reads   counts
//         ends        [entry_count], of rank_ends
// Writes  steps       [entry_count] items of the path before the entry within its block of PATH_BLOCK entries,
//                     and its end
//         path_sums   [blocks] items of the path in the block
// An entry contributes one item for itself and one for each of its candidates: the entries from rank + 1 up to
// its end. The item for itself bounds how many entries a piece of the path can span.

@group(0) @binding(0) var<storage, read> counts: Counts;
@group(0) @binding(1) var<storage, read> ends: array<u32>;
@group(0) @binding(2) var<storage, read_write> steps: array<Step>;
@group(0) @binding(3) var<storage, read_write> path_sums: array<u32>;

const PER_INVOCATION: u32 = PATH_BLOCK / 64u;

var<workgroup> sums: array<u32, 64>;

@compute @workgroup_size(64)
fn sweep_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let n = counts.entry_count;
    let first = block * PATH_BLOCK + local * PER_INVOCATION;
    let end = min(first + PER_INVOCATION, n);
    var sum = 0u;
    for (var rank = first; rank < end; rank += 1u) {
        sum += ends[rank] - rank;
    }
    sums[local] = sum;
    workgroupBarrier();
    for (var distance = 1u; distance < 64u; distance *= 2u) {
        var wider = sums[local];
        if local >= distance {
            wider += sums[local - distance];
        }
        workgroupBarrier();
        sums[local] = wider;
        workgroupBarrier();
    }
    var running = sums[local] - sum;
    for (var rank = first; rank < end; rank += 1u) {
        steps[rank] = Step(running, ends[rank]);
        running += ends[rank] - rank;
    }
    if local == 0u && block * PATH_BLOCK < n {
        path_sums[block] = sums[63];
    }
}
