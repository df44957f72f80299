// tree_top: builds the nodes of all levels above tree_bottom, and the summary of the tree.
//
// Reads   tree
//         cube       for the unit of surfaces
//         boxes      [box_count * 3] bits of f32, two at a time
//         invalid    [box_count / 256, rounded up, and one] of tree_bottom
// Changes bounds     [nodes of the third level, or 1] of tree_bottom: each level replaces the one below
// Writes  nodes      the nodes of these levels
//         summary    the count of invalid boxes, the first of them, the approximate surface of all nodes, and the count
//                    of vast boxes
//
// One workgroup, since a dispatch per level takes longer. One invocation per node of a level, 256 nodes at a time. The
// bounds of these nodes overwrite bounds of children after all their children are read. The time of a query grows with
// the surface of all nodes.
//
// Source: Binary Ostensibly-Implicit Trees, Chitalu, Dubach, Komura 2020, with the same layout without pointers.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> cube: Cube;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> nodes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> bounds: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> invalid: array<u32>;
@group(0) @binding(6) var<storage, read_write> summary: TreeSummary;

@compute @workgroup_size(256)
fn tree_top(@builtin(local_invocation_index) local: u32) {
    for (var level = BOTTOM_LEVELS; level < tree.level_count; level += 1u) {
        for (var first = 0u; first < node_count(level); first += 256u) {
            let node = first + local;
            var found = no_child();
            if node < node_count(level) {
                found = write_node(level, node);
            }
            storageBarrier();
            if node < node_count(level) {
                keep(node, found);
            }
            storageBarrier();
        }
    }
    // Scan for invalid boxes only if there are any.
    let blocks = div_ceil(tree.box_count, 256u);
    let invalid_count = list_invalid(local, select(0u, blocks, invalid[blocks] > 0u));
    if local == 0u {
        summary.invalid_count = invalid_count;
        let all = child_at(tree.level_count, 0u);
        summary.surface = all.surface;
        summary.vast_count = all.vast_count;
    }
}

// Lists the first invalid boxes of these blocks of 256. Returns the count of all invalid boxes.
fn list_invalid(local: u32, blocks: u32) -> u32 {
    var found = 0u;
    for (var first = 0u; first < blocks; first += 256u) {
        let block = first + local;
        var count = 0u;
        if block < blocks {
            count = invalid[block];
        }
        let scan = scan_workgroup(local, count);
        var rank = found + scan.before;
        if count > 0u && rank < INVALID_LISTED {
            let end = min(block * 256u + 256u, tree.box_count);
            for (var i = block * 256u; i < end && rank < INVALID_LISTED; i += 1u) {
                let loaded = load_box(i);
                if kind_of(loaded.min, loaded.max) == KIND_INVALID {
                    summary.first_invalid[rank] = vec4<u32>(i, 0u, 0u, 0u);
                    rank += 1u;
                }
            }
        }
        found += scan.total;
    }
    return found;
}

// Returns a child by its index: a node of the level below.
fn child_at(level: u32, child: u32) -> Child {
    if child >= node_count(level - 1u) {
        return no_child();
    }
    let a = bounds[2u * child];
    let b = bounds[2u * child + 1u];
    return Child(BoxBits(a.xyz, vec3<u32>(a.w, b.xy)), bitcast<f32>(b.z), b.w);
}
