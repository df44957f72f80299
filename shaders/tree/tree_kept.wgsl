// What is known of the nodes of a level while those above it are made, two vec4 each. Shared by the kernels that make nodes.

fn keep(node: u32, found: Child) {
    bounds[2u * node] = vec4<u32>(found.own.low, found.own.high.x);
    bounds[2u * node + 1u] = vec4<u32>(found.own.high.yz, bitcast<u32>(found.surface), 0u);
}

// Returns what is known of a node of a level below, by its number.
fn kept(level: u32, node: u32) -> Child {
    if node >= node_count(level) {
        return Child(nothing(), 0.0);
    }
    let a = below[2u * node];
    let b = below[2u * node + 1u];
    return Child(BoxBits(a.xyz, vec3<u32>(a.w, b.xy)), bitcast<f32>(b.z));
}
