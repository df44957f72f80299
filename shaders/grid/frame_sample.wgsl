// Loads the sample of boxes for frame_choose, two per invocation of 256, and adds up its moments.
//
// A larger sample gives no better axes and cells (docs/decisions.md): the standard error of a variance is 6 % for
// normally distributed coordinates. Centroids are shifted by the middle of the bounds and scaled by a power of two, so
// that nothing overflows and little cancels. The order of the sums is fixed, so an adapter gives the same result on
// every run. Sources: the covariance of MuJoCo's mj_broadphase, here of a sample; its reduction in Liu, Harada, Lee,
// Kim 2010; Knuth, The Art of Computer Programming 3, 6.4, for the hash by multiplication; Chan, Golub, LeVeque 1983,
// Algorithms for computing the sample variance, for the shift.

const_assert SAMPLES == 2u * 256u;
// Invocations that add up moments, one per element of `sums`.
const MOMENT_LANES: u32 = 32u;

// Sums over centroids (shifted and scaled) and edges (scaled).
struct Moments {
    sum: vec3<f32>,
    count: f32,
    squares: vec3<f32>,       // xx, yy, zz
    products: vec3<f32>,      // xy, yz, zx
    edge_sum: vec3<f32>,
    edge_max: vec3<f32>,
}

// A box of the sample, in scaled units.
struct Sample {
    low: vec3<f32>,
    high: vec3<f32>,
    counts: bool,             // true if it exists, is finite and within the limit
}

var<workgroup> sums: array<Moments, MOMENT_LANES>;

// Returns the bits of box i of the sample; NaNs, an invalid box, beyond the last box of the input. A multiplicative
// hash spreads the sample over the input, since consecutive boxes of the input are often adjacent in space.
fn sample_bits(i: u32) -> LoadedBox {
    if i >= params.box_count {
        return LoadedBox(vec3<u32>(0xffffffffu), vec3<u32>(0xffffffffu));
    }
    return load_box(select(mul64((i + 1u) * GOLDEN, params.box_count).y, i, params.box_count <= SAMPLES));
}

fn sample_of(bits: LoadedBox, scene: Scale) -> Sample {
    return Sample(
        scaled(bitcast<vec3<f32>>(bits.min), scene.scale),
        scaled(bitcast<vec3<f32>>(bits.max), scene.scale),
        kind_of(bits.min, bits.max) == KIND_FINITE && is_within(bits.min, bits.max, scene.limit),
    );
}

// Returns the moments of a box of the sample, with centroids shifted by `middle`.
fn moments_of(own: Sample, middle: vec3<f32>) -> Moments {
    if !own.counts {
        return Moments();
    }
    let centroid = (0.5 * own.low + 0.5 * own.high) - middle;
    let edge = own.high - own.low;
    return Moments(centroid, 1.0, centroid * centroid, centroid * centroid.yzx, edge, edge);
}

// Returns the moments of the union of two sets of boxes.
fn combined(a: Moments, b: Moments) -> Moments {
    return Moments(
        a.sum + b.sum,
        a.count + b.count,
        a.squares + b.squares,
        a.products + b.products,
        a.edge_sum + b.edge_sum,
        max(a.edge_max, b.edge_max),
    );
}

// Adds up the moments of all invocations, into the first element of `sums`. Every invocation of the workgroup must call
// it.
fn sum_moments(local: u32, mine: Moments) {
    if local < MOMENT_LANES {
        sums[local] = mine;
    }
    for (var round = 1u; round < 256u / MOMENT_LANES; round += 1u) {
        workgroupBarrier();
        if local / MOMENT_LANES == round {
            sums[local % MOMENT_LANES] = combined(sums[local % MOMENT_LANES], mine);
        }
    }
    workgroupBarrier();
    // Add up four elements each, then the eight sums.
    if local < 8u {
        let halves = combined(sums[local], sums[local + 16u]);
        sums[local] = combined(halves, combined(sums[local + 8u], sums[local + 24u]));
    }
    workgroupBarrier();
    if local == 0u {
        var all_sums = sums[0];
        for (var i = 1u; i < 8u; i += 1u) {
            all_sums = combined(all_sums, sums[i]);
        }
        sums[0] = all_sums;
    }
}
