// tree_summary: how many boxes are invalid, which are the first of them, and about how large the nodes are together.
//
// Reads   tree
//         boxes      [box_count * 3] bits of f32, two at a time
//         invalid    [box_count / 256, rounded up] of tree_leaves
//         bounds     [1] of tree_top, of the topmost node
// Writes  summary
// One workgroup. A query takes about as long as the surface of all nodes is large.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> invalid: array<u32>;
@group(0) @binding(3) var<storage, read> bounds: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> summary: TreeSummary;

@compute @workgroup_size(256)
fn tree_summary(@builtin(local_invocation_index) local: u32) {
    let blocks = div_ceil(tree.box_count, 256u);
    var own = 0u;
    for (var block = local; block < blocks; block += 256u) {
        own += invalid[block];
    }
    // Most scenes have no invalid box, and are not scanned.
    scan_workgroup(local, own);
    let scanned = select(0u, blocks, workgroupUniformLoad(&scan_bases[16]).x > 0u);
    var found = 0u;
    for (var first = 0u; first < scanned; first += 256u) {
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
    if local == 0u {
        summary.invalid_count = found;
        summary.surface = bitcast<f32>(bounds[1].z);
    }
}
