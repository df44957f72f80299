// tree_top: the nodes of the levels that have no more than TOP_NODES nodes, up to the topmost node.
//
// Reads   tree
//         level      the lowest of these levels
//         cube       for the unit of surfaces
//         below      [nodes of the level below] what is known of each of them, unless IS_LOWEST
// Changes nodes      reads the boxes of tree_leaves where IS_LOWEST, and writes the nodes of these levels
// Writes  bounds     [1] what bounds the topmost node, and about the surface of all nodes
// One workgroup, so that no level waits for a dispatch. An invocation for each node of a level.
// Source: as that of tree_levels.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> level: LevelPass;
@group(0) @binding(2) var<uniform> cube: Cube;
@group(0) @binding(3) var<storage, read_write> nodes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> below: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> bounds: array<vec4<u32>>;

// Whether the children of the lowest of these levels are the boxes of a leaf.
override IS_LOWEST: bool = false;

// What is known of the nodes of the level that was made last.
var<workgroup> made: array<Child, TOP_NODES>;

@compute @workgroup_size(TOP_NODES)
fn tree_top(@builtin(local_invocation_index) local: u32) {
    for (var at = level.level; at < tree.level_count; at += 1u) {
        let is_there = local < node_count(at);
        var found = Child(nothing(), 0.0);
        if is_there {
            found = write_node(at, local);
        }
        workgroupBarrier();
        if is_there {
            made[local] = found;
        }
        workgroupBarrier();
        if local == 0u && at + 1u == tree.level_count {
            keep(0u, found);
        }
    }
}

// Returns a child by its number: a box, or a node of the level below.
fn child_at(at: u32, child: u32) -> Child {
    if at > level.level {
        if child < node_count(at - 1u) {
            return made[child];
        }
        return Child(nothing(), 0.0);
    }
    if IS_LOWEST {
        return Child(box_at(child), 0.0);
    }
    return kept(at - 1u, child);
}
