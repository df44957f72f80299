// tree_levels: the nodes of one level, of those that have more nodes than tree_top takes.
//
// Reads   tree
//         level      which one
//         cube       for the unit of surfaces
//         below      [nodes of the level below] what is known of each of them
// Writes  nodes      the nodes of the level
//         bounds     [nodes of the level] what bounds each of them, and about the surface of it and of all nodes under it
// An invocation for each node, which bounds eight children.
// Source: Binary Ostensibly-Implicit Trees, Chitalu, Dubach, Komura 2020, which lie without pointers in the same way.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> level: LevelPass;
@group(0) @binding(2) var<uniform> cube: Cube;
@group(0) @binding(3) var<storage, read_write> nodes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> below: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> bounds: array<vec4<u32>>;

@compute @workgroup_size(64)
fn tree_levels(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let node = group_index(group, groups) * 64u + local;
    if node < node_count(level.level) {
        keep(node, write_node(level.level, node));
    }
}

// Returns a child by its number: a node of the level below.
fn child_at(level: u32, child: u32) -> Child {
    return kept(level - 1u, child);
}
