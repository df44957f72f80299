// pca_moments: sums of centroids, of their products and of edge lengths, a partial result per workgroup.
//
// Reads   boxes    [box_count * 3] bits of f32, two at a time; and the same four at a time as box_quads
//         bounds   [pca_groups], of pca_bounds
// Writes  moments  [moment_groups]
// Of more than MOMENT_BOXES boxes a sample of as many is added up: four in a row, which are three whole sectors, from
// anywhere in each of as many equal shares of all boxes. (Shares of little more than four boxes have some in common.) Axes and
// cells are no better for more: the standard error of a variance is 1.1 % where boxes in a row are all alike, and
// coordinates spread as those of a normal distribution.
// Centroids are shifted by the middle of the bounds and scaled by a power of two, so that nothing overflows
// and little cancels. The order of the sums is fixed, so an adapter gives the same result on every run.
// The covariance they give is that of MuJoCo's mj_broadphase; by reduction as in Liu, Harada, Lee, Kim 2010.
// Sources: those two; Cochran 1977, Sampling Techniques, for a sample from each share; and Chan, Golub, LeVeque 1983,
// Algorithms for computing the sample variance, for the shift.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> bounds: array<BoundsPartial>;
@group(0) @binding(3) var<storage, read_write> moments: array<Moments>;
@group(0) @binding(4) var<storage, read> box_quads: array<vec4<u32>>;

var<workgroup> sums: array<Moments, 128>;

// What is the same for all boxes.
struct Shift {
    middle: vec3<f32>,
    scale: f32,
    limit: f32,
}

// Adds a box.
fn with_box(before: Moments, bits: LoadedBox, shift: Shift) -> Moments {
    if kind_of(bits.min, bits.max) != KIND_FINITE || !is_within(bits.min, bits.max, shift.limit) {
        return before;
    }
    let low = scaled(bitcast<vec3<f32>>(bits.min), shift.scale);
    let high = scaled(bitcast<vec3<f32>>(bits.max), shift.scale);
    let centroid = (0.5 * low + 0.5 * high) - shift.middle;
    let edge = high - low;
    return combined(before, Moments(
        centroid, 1.0,
        centroid * centroid, 0.0,
        centroid * centroid.yzx, 0.0,
        edge, 0.0,
        edge, 0.0,
    ));
}

// Returns the number of box j of the sample; a number behind all boxes where there is none.
fn sampled(j: u32) -> u32 {
    if j >= min(params.box_count, MOMENT_BOXES) {
        return NO_BOX;
    }
    if params.box_count <= MOMENT_BOXES {
        return j;
    }
    let four = j / 4u;
    let within = ((four + 1u) * GOLDEN) >> MOMENT_FOURS_BITS;
    let at = (four << (32u - MOMENT_FOURS_BITS)) | within;
    return mul64(at, params.box_count / 4u).y * 4u + j % 4u;
}

@compute @workgroup_size(128)
fn pca_moments(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let scene = scene_scale(local);
    let shift = Shift(0.5 * scene.low + 0.5 * scene.high, scene.scale, scene.limit);
    let stride = moment_groups(params.box_count) * 128u;
    var mine = Moments();
    // Four boxes are loaded at once, so that they are waited for once. The stride is even.
    let is_odd = local % 2u == 1u;
    for (var i = group.x * 128u + local; i < min(params.box_count, MOMENT_BOXES); i += 4u * stride) {
        let a = load_words(sampled(i));
        let b = load_words(sampled(i + stride));
        let c = load_words(sampled(i + 2u * stride));
        let d = load_words(sampled(i + 3u * stride));
        mine = with_box(mine, box_of(a, is_odd), shift);
        mine = with_box(mine, box_of(b, is_odd), shift);
        mine = with_box(mine, box_of(c, is_odd), shift);
        mine = with_box(mine, box_of(d, is_odd), shift);
    }
    sums[local] = mine;
    workgroupBarrier();
    // Eight times sixteen, then the eight.
    let run_end = select(0u, 128u, local < 8u);
    for (var k = local + 8u; k < run_end; k += 8u) {
        mine = combined(mine, sums[k]);
    }
    // The first eight are not among those that were read.
    if local < 8u {
        sums[local] = mine;
    }
    workgroupBarrier();
    if local == 0u {
        for (var k = 1u; k < 8u; k += 1u) {
            mine = combined(mine, sums[k]);
        }
        moments[group.x] = mine;
    }
}
