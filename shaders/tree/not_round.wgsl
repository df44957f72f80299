// The definitions of round_sight.wgsl for kernels whose queries do not move.

const IS_ROUND: bool = false;

fn are_ranks_exact() -> bool {
    return false;
}

fn near_exactly(own: BoxBits, near: f32) -> f32 {
    return near;
}
