// query_first: the first boxes that each path touches.
//
// Reads   queries    rays, boxes that move, or where IS_ROUND round shapes that move (path.wgsl)
// An invocation for each query. Nodes are looked at in the order in which the path reaches them. Rows are in order at all times (rows.wgsl).

// A second dispatch would take as long as the longest of these walks.
const IS_EXACT: bool = true;

@compute @workgroup_size(64)
fn query_first(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    rank_boxes(group_index(group, groups) * WALKERS + local);
}

fn take(place: u32, own: BoxBits, near: f32) {
    put(place, own, near);
}

fn complete_row() {}

fn is_done() -> bool {
    return false;
}
