// The boxes at places among the leaves (node.wgsl). Shared by the kernels that answer with boxes.

// Returns the box at a place among the leaves.
fn id_at(place: u32) -> u32 {
    return nodes[tree.first_id + place / 4u][place % 4u];
}
