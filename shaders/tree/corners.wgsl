// The bounds of a child of a node (node.wgsl), as bits of f32. Shared by the kernels that test boxes.

fn low_of(at: u32, child: u32) -> vec3<u32> {
    let vector = at + child / 4u;
    let lane = child % 4u;
    return vec3<u32>(nodes[vector][lane], nodes[vector + 2u][lane], nodes[vector + 4u][lane]);
}

fn high_of(at: u32, child: u32) -> vec3<u32> {
    let vector = at + 6u + child / 4u;
    let lane = child % 4u;
    return vec3<u32>(nodes[vector][lane], nodes[vector + 2u][lane], nodes[vector + 4u][lane]);
}
