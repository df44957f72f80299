// tree_levels: the bounds of nodes, three levels at a time.
//
// Reads   tree
//         level      the lowest of the levels whose nodes are bounded
//         cube       for the unit of surfaces
// Changes nodes      reads that level, and writes those of the three levels above it
// Writes  partials   [workgroups] from `first_partial` on: about the surfaces of the nodes that were bounded, added up
// An invocation for each node: it bounds its eight children, and eight invocations bound what eight others did, twice. What
// passes between them lies in workgroup memory; nothing that a workgroup writes is read by another.
// Bounds are compared as integers; -0 counts as 0.
// Source: Binary Ostensibly-Implicit Trees, Chitalu, Dubach, Komura 2020, which lie without pointers in the same way.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> level: LevelPass;
@group(0) @binding(2) var<uniform> cube: Cube;
@group(0) @binding(3) var<storage, read_write> nodes: array<u32>;
@group(0) @binding(4) var<storage, read_write> partials: array<f32>;

struct Bounds3 {
    low: vec3<u32>,
    high: vec3<u32>,
}

var<workgroup> bounds: array<Bounds3, 64>;
var<workgroup> areas: array<f32, 64>;

@compute @workgroup_size(64)
fn tree_levels(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let own_group = group_index(group, groups);
    var area = 0.0;
    let node = own_group * 64u + local;
    var own = Bounds3(vec3<u32>(INFINITY), vec3<u32>(MINUS_INFINITY));
    if node < node_count(level.level) {
        let at = (first_node(level.level) + node) * (4u * NODE_VECTORS);
        own = Bounds3(
            vec3<u32>(least(at), least(at + 8u), least(at + 16u)),
            vec3<u32>(most(at + 24u), most(at + 32u), most(at + 40u)),
        );
        area = surface_of(own);
    }
    bounds[local] = own;
    put(level.level + 1u, node, own);
    workgroupBarrier();

    for (var step = 1u; step < 3u; step += 1u) {
        let there = local < (64u >> (3u * step));
        var merged = Bounds3(vec3<u32>(INFINITY), vec3<u32>(MINUS_INFINITY));
        if there {
            for (var k = 0u; k < 8u; k += 1u) {
                let other = bounds[8u * local + k];
                merged = Bounds3(smaller(merged.low, other.low), larger(merged.high, other.high));
            }
        }
        workgroupBarrier();
        if there {
            bounds[local] = merged;
            let upper = own_group * (64u >> (3u * step)) + local;
            if upper < node_count(level.level + step) {
                area += surface_of(merged);
            }
            put(level.level + step + 1u, upper, merged);
        }
        workgroupBarrier();
    }

    areas[local] = area;
    workgroupBarrier();
    if local == 0u && own_group < level.group_count {
        area = 0.0;
        for (var k = 0u; k < 64u; k += 1u) {
            area += areas[k];
        }
        partials[level.first_partial + own_group] = area;
    }
}

// Writes the bounds of a child to its parent, which is a node of a level, if there is such a parent.
fn put(parents: u32, child: u32, own: Bounds3) {
    if parents >= tree.level_count || child / 8u >= node_count(parents) {
        return;
    }
    let at = (first_node(parents) + child / 8u) * (4u * NODE_VECTORS) + child % 8u;
    nodes[at] = own.low.x;
    nodes[at + 8u] = own.low.y;
    nodes[at + 16u] = own.low.z;
    nodes[at + 24u] = own.high.x;
    nodes[at + 32u] = own.high.y;
    nodes[at + 40u] = own.high.z;
}

fn least(at: u32) -> u32 {
    var found = INFINITY;
    for (var k = 0u; k < 8u; k += 1u) {
        let other = nodes[at + k];
        found = select(found, other, ordered(vec3<u32>(other)).x < ordered(vec3<u32>(found)).x);
    }
    return found;
}

fn most(at: u32) -> u32 {
    var found = MINUS_INFINITY;
    for (var k = 0u; k < 8u; k += 1u) {
        let other = nodes[at + k];
        found = select(found, other, ordered(vec3<u32>(other)).x > ordered(vec3<u32>(found)).x);
    }
    return found;
}

fn smaller(a: vec3<u32>, b: vec3<u32>) -> vec3<u32> {
    return select(a, b, ordered(b) < ordered(a));
}

fn larger(a: vec3<u32>, b: vec3<u32>) -> vec3<u32> {
    return select(a, b, ordered(b) > ordered(a));
}

// Returns about half the surface of a node, in units of the curve; nodes that are not of usual size count for nothing.
fn surface_of(own: Bounds3) -> f32 {
    if class_of(own.low, own.high) != 0u {
        return 0.0;
    }
    let unit = select(1.0, cube.scale / 64.0, cube.scale > 0.0);
    let sides = min((bitcast<vec3<f32>>(own.high) - bitcast<vec3<f32>>(own.low)) * unit, vec3<f32>(1e15));
    return sides.x * sides.y + sides.y * sides.z + sides.z * sides.x;
}
