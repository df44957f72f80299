// Where the levels of a tree lie among its nodes (node.wgsl). Shared by the kernels that bound nodes and those that walk.

// Returns the number of nodes of a level.
fn node_count(level: u32) -> u32 {
    return ((tree.box_count - 1u) >> (3u * level + 3u)) + 1u;
}

// Returns where the first node of a level lies among all.
fn first_node(level: u32) -> u32 {
    return tree.first_nodes[level / 4u][level % 4u];
}
