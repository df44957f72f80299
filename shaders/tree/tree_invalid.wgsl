// tree_invalid: how many boxes are invalid, of each 256 in a row.
//
// Reads   tree
//         places    [box_count] of tree_leaves
// Writes  invalid   [box_count / 256, rounded up]

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read_write> invalid: array<u32>;

var<workgroup> count: atomic<u32>;

@compute @workgroup_size(256)
fn tree_invalid(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let i = block * 256u + local;
    if local == 0u {
        atomicStore(&count, 0u);
    }
    workgroupBarrier();
    if i < tree.box_count && places[i] >= INVALID_PLACE {
        atomicAdd(&count, 1u);
    }
    workgroupBarrier();
    if local == 0u && block * 256u < tree.box_count {
        invalid[block] = atomicLoad(&count);
    }
}
