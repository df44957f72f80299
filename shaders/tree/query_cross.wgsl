// query_cross: all boxes that each path touches: counted first, then written (lists.wgsl).
//
// Reads   queries    rays, boxes that move, or where IS_ROUND round shapes that move (path.wgsl)

// A second dispatch would take as long as the longest of these walks.
const IS_EXACT: bool = true;

@compute @workgroup_size(64)
fn query_cross(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    list_boxes(group_index(group, groups), local);
}
