// tree_cube: chooses the cube that the curve fills.
//
// Reads   tree
//         boxes   [box_count * 3] bits of f32, two at a time
// Writes  cube    lower corner, and places of the curve per unit length; in units of 2^6, in which no difference
//                 overflows. If most boxes are at one point, the scale is 0.
//
// One workgroup. The cube contains the centroids of a sample without its outermost parts. So a few distant boxes do not
// force all other boxes to the same place. Enormous boxes are included only if they are the majority. The cube changes
// the time of queries, not the answers.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> cube: Cube;

// The largest extent of the cube, in units of the extent of most boxes.
const MARGIN: f32 = 8.0;

var<workgroup> centers: array<vec4<f32>, 256>;
// Counts of boxes of the sample: of usual size, and finite.
var<workgroup> ordinary_count: atomic<u32>;
var<workgroup> finite_count: atomic<u32>;
// For each axis, four coordinates of centroids: the least of all, the least and the largest of most boxes, and the
// largest of all.
var<workgroup> ends: array<array<f32, 4>, 3>;

@compute @workgroup_size(256)
fn tree_cube(@builtin(local_invocation_index) local: u32) {
    // One box per `step` boxes, at varying offsets, since kinds of boxes may alternate.
    let step = div_ceil(tree.box_count, 256u);
    let i = local * step + ((local * 0x9e3779b1u) >> 8u) % step;
    var kind = 3u;
    if i < tree.box_count {
        kind = class_of(min_bits_of(i), max_bits_of(i));
    }
    var center = vec3<f32>(0.0);
    if kind < 2u {
        center = center_of(min_bits_of(i), max_bits_of(i));
    }
    centers[local] = vec4<f32>(center, f32(kind));
    // Use an invocation that has no box in a small scene, so that tests find a missing barrier.
    if local == 255u {
        atomicStore(&ordinary_count, 0u);
        atomicStore(&finite_count, 0u);
    }
    workgroupBarrier();
    if kind == 0u {
        atomicAdd(&ordinary_count, 1u);
    }
    if kind <= 1u {
        atomicAdd(&finite_count, 1u);
    }
    workgroupBarrier();
    let ordinary = atomicLoad(&ordinary_count);
    let finite = atomicLoad(&finite_count);
    let last_class = select(1.0, 0.0, 2u * ordinary >= finite);
    let count = select(finite, ordinary, last_class == 0.0);
    // The rank of the invocation's box in the sample along each axis.
    var rank = vec3<u32>(0u);
    for (var k = 0u; k < 256u; k += 1u) {
        let other = centers[k];
        let is_before = (other.xyz < center) | ((other.xyz == center) & vec3<bool>(k < local));
        rank += select(vec3<u32>(0u), vec3<u32>(1u), is_before & vec3<bool>(other.w <= last_class));
    }
    if count > 0u && f32(kind) <= last_class {
        note_ends(center, rank, count);
    }
    workgroupBarrier();
    if local == 0u {
        cube = cube_of(count);
    }
}

// Writes the centroid of the invocation's box if it is an end along an axis; the sample has `count` boxes.
fn note_ends(center: vec3<f32>, rank: vec3<u32>, count: u32) {
    let outer = count / 64u;
    for (var k = 0u; k < 3u; k += 1u) {
        // In a small sample, a box may be several ends.
        if rank[k] == 0u {
            ends[k][0] = center[k];
        }
        if rank[k] == outer {
            ends[k][1] = center[k];
        }
        if rank[k] == count - 1u - outer {
            ends[k][2] = center[k];
        }
        if rank[k] == count - 1u {
            ends[k][3] = center[k];
        }
    }
}

// Returns the cube for these ends; the sample has `count` boxes.
fn cube_of(count: u32) -> Cube {
    var low = vec3<f32>(0.0);
    var extent = 0.0;
    if count > 0u {
        for (var k = 0u; k < 3u; k += 1u) {
            let margin = MARGIN * (ends[k][2] - ends[k][1]);
            let first = max(ends[k][0], ends[k][1] - margin);
            extent = max(extent, min(ends[k][3], ends[k][2] + margin) - first);
            low[k] = first;
        }
    }
    // Add a border around the sample.
    let border = extent / 64.0;
    // The inverse of a smaller extent overflows.
    let scale = select(0.0, f32(CURVE_SIDE) / (extent + 2.0 * border), extent > 1e-34);
    return Cube(low - vec3<f32>(border), scale);
}
