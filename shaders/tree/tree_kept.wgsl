// What is known of the nodes of the level below, as tree_keep.wgsl keeps it. Shared by the kernels that make nodes.

// Returns what is known of a node of a level below, by its number.
fn kept(level: u32, node: u32) -> Child {
    if node >= node_count(level) {
        return Child(nothing(), 0.0);
    }
    let a = below[2u * node];
    let b = below[2u * node + 1u];
    return Child(BoxBits(a.xyz, vec3<u32>(a.w, b.xy)), bitcast<f32>(b.z));
}
