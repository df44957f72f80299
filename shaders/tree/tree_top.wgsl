// tree_top: the nodes of the levels that have no more than TOP_NODES nodes, up to the topmost node, and what is said of the tree.
//
// Reads   tree
//         level      the lowest of these levels; level_count where there are none
//         cube       for the unit of surfaces
//         boxes      [box_count * 3] bits of f32, two at a time
//         below      [nodes of the level below] what is known of each of them
//         invalid    [box_count / 256, rounded up, and one] of tree_bottom
// Writes  nodes      the nodes of these levels
//         summary    how many boxes are invalid, which are the first of them, and about how large all nodes are together
// One workgroup, so that no level waits for a dispatch. An invocation for each node of a level.
// A query takes about as long as the surface of all nodes is large.
// Source: as that of tree_levels.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> level: LevelPass;
@group(0) @binding(2) var<uniform> cube: Cube;
@group(0) @binding(3) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> nodes: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> below: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> invalid: array<u32>;
@group(0) @binding(7) var<storage, read_write> summary: TreeSummary;

// What is known of the nodes of the level that was made last.
var<workgroup> made: array<Child, TOP_NODES>;

@compute @workgroup_size(TOP_NODES)
fn tree_top(@builtin(local_invocation_index) local: u32) {
    for (var at = level.level; at < tree.level_count; at += 1u) {
        _ = make(at, local, local, local < node_count(at));
    }
    // Most scenes have no invalid box, and are not scanned.
    let blocks = div_ceil(tree.box_count, 256u);
    let invalid_count = list_invalid(local, select(0u, blocks, invalid[blocks] > 0u));
    if local == 0u {
        summary.invalid_count = invalid_count;
        summary.surface = child_at(tree.level_count, 0u).surface;
    }
}

// Lists the first invalid boxes of these blocks of 256, and returns how many there are.
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

// Returns a child by its number: a node of the level below.
fn child_at(at: u32, child: u32) -> Child {
    if at > level.level {
        return made_below(at, child, child);
    }
    return kept(at - 1u, child);
}
