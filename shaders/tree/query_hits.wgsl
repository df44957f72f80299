// query_hits: computes when each path touches the boxes of its row (ranked.wgsl, path_time.wgsl).

@compute @workgroup_size(256)
fn query_hits(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    write_answer(group_index(group, groups) * 256u + local);
}

// Returns the time at which a path touches a box, rounded down, in bits. For a round shape, the rank of a box is
// already the time.
fn answer_of(own: BoxBits, rank: u32) -> u32 {
    if IS_ROUND {
        if is_round {
            return select(rank, 0u, rank >= RANK_ZERO);
        }
    }
    return number_of(own);
}
