// Keeps what is known of a node while the levels above it are made, two vec4 each. Shared by the kernels that make nodes.

fn keep(node: u32, found: Child) {
    bounds[2u * node] = vec4<u32>(found.own.low, found.own.high.x);
    bounds[2u * node + 1u] = vec4<u32>(found.own.high.yz, bitcast<u32>(found.surface), 0u);
}
