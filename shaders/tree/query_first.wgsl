// query_first: finds the first boxes that each path touches.
//
// Reads   queries    rays, moving boxes, or with IS_ROUND moving round shapes (path.wgsl)
//
// One invocation per query. It visits nodes in the order in which the path reaches them. Rows are always sorted
// (rows.wgsl).

// Decide at once, since another dispatch takes the time of its longest walk.
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
