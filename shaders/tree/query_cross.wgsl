// query_cross: lists all boxes that each path touches: counts them first, then writes them (lists.wgsl).
//
// Reads   queries    rays, moving boxes, or with IS_ROUND moving round shapes (path.wgsl)

// Decide at once, since another dispatch takes the time of its longest walk.
const IS_EXACT: bool = true;

@compute @workgroup_size(64)
fn query_cross(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    list_boxes(group_index(group, groups), local);
}
