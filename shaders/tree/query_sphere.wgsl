// query_sphere: lists all boxes that each sphere touches: counts them first, then writes them (lists.wgsl).
//
// Reads   queries    centre and radius (distance.wgsl)

override IS_EXACT: bool = false;

@compute @workgroup_size(64)
fn query_sphere(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    list_boxes(group_index(group, groups), local);
}
