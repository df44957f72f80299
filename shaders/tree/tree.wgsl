// Computes the places of the levels of a tree among its nodes (node.wgsl). Shared by the kernels that build nodes and
// the kernels that walk.

// Returns the node count of a level.
fn node_count(level: u32) -> u32 {
    return ((tree.box_count - 1u) >> (3u * level + 3u)) + 1u;
}

// Returns the place of the first node of a level among all nodes.
fn first_node(level: u32) -> u32 {
    return tree.first_nodes[level / 4u][level % 4u];
}
