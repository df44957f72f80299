// Reduces the bounds of a workgroup, and computes the scale of the scene from all partial bounds. Shared by pca_bounds
// and frame_choose. Workgroups must have at least 128 invocations, and every invocation must call these functions. Both
// kernels bind params and boxes; frame_choose also binds bounds. Source: reduction in two levels, Harris, Optimizing
// parallel reduction in CUDA, 2007; here sixteen elements per step, for fewer barriers.

// The bits of the least coordinates, and the box count.
var<workgroup> lows: array<vec4<u32>, 128>;
var<workgroup> highs: array<vec3<f32>, 128>;

fn no_bounds() -> Bounds {
    return Bounds(vec3<f32>(FLOAT_MAX), 0u, vec3<f32>(-FLOAT_MAX), 0u);
}

fn united(a: Bounds, b: Bounds) -> Bounds {
    return Bounds(min(a.min, b.min), a.count + b.count, max(a.max, b.max), 0u);
}

fn store_bounds(k: u32, own: Bounds) {
    lows[k] = vec4<u32>(bitcast<vec3<u32>>(own.min), own.count);
    highs[k] = own.max;
}

fn stored_bounds(k: u32) -> Bounds {
    let low = lows[k];
    return Bounds(bitcast<vec3<f32>>(low.xyz), low.w, highs[k], 0u);
}

// Returns the union over invocations 0 to 127. There must be a barrier between two calls.
fn reduce_bounds(local: u32, mine: Bounds) -> Bounds {
    if local < 128u {
        store_bounds(local, mine);
    }
    workgroupBarrier();
    // Reduce sixteen elements each, then the eight results. Idle invocations skip the loop; more steps would need more
    // barriers.
    let run_end = select(0u, 128u, local < 8u);
    var own = mine;
    for (var k = local + 8u; k < run_end; k += 8u) {
        own = united(own, stored_bounds(k));
    }
    // No invocation reads the first eight elements above, so they can be overwritten.
    if local < 8u {
        store_bounds(local, own);
    }
    workgroupBarrier();
    var all_bounds = stored_bounds(0u);
    for (var k = 1u; k < 8u; k += 1u) {
        all_bounds = united(all_bounds, stored_bounds(k));
    }
    return all_bounds;
}

// Reduces the bounds of both sets of boxes.
fn reduce_both(local: u32, mine: BoundsPartial) -> BoundsPartial {
    let ordinary = reduce_bounds(local, mine.ordinary);
    workgroupBarrier();
    return BoundsPartial(ordinary, reduce_bounds(local, mine.finite));
}

struct Scale {
    low: vec3<f32>,           // bounds in scaled units
    high: vec3<f32>,
    limit: f32,               // in input units; boxes beyond it are ignored
    scale: f32,               // a power of two; the largest bound becomes 1 to 2, or to 4 above 2^127
    count: u32,
}

// Returns coordinates in scaled units, up to 4. The clamp changes no value. It keeps drivers (NVIDIA's, for one) from
// rewriting a * s - b * s as (a - b) * s, which overflows for the largest floats.
fn scaled(coordinates: vec3<f32>, scale: f32) -> vec3<f32> {
    return clamp(coordinates * scale, vec3<f32>(-4.0), vec3<f32>(4.0));
}

// Returns the scale of the scene, from the partial bounds of pca_bounds.
fn scene_scale(local: u32) -> Scale {
    var ordinary_share = no_bounds();
    var finite_share = no_bounds();
    for (var i = local; i < pca_groups(params.box_count); i += 128u) {
        ordinary_share = united(ordinary_share, bounds[i].ordinary);
        finite_share = united(finite_share, bounds[i].finite);
    }
    let partial = reduce_both(local, BoundsPartial(ordinary_share, finite_share));
    let ordinary = partial.ordinary;
    let finite = partial.finite;
    // Use the bounds of ordinary boxes, unless most finite boxes are not ordinary.
    var used = ordinary;
    var limit = ORDINARY_MAX;
    if ordinary.count < finite.count - ordinary.count {
        used = finite;
        limit = FLOAT_MAX;
    }
    if used.count == 0u {
        return Scale(vec3<f32>(0.0), vec3<f32>(0.0), limit, 1.0, 0u);
    }
    let largest = max(abs(used.min), abs(used.max));
    let magnitude = max(largest.x, max(largest.y, largest.z));
    // Build 2^-exponent from its bits: exact on every driver, and never denormal.
    let exponent = clamp(bitcast<u32>(magnitude) >> 23u, 1u, 253u);
    let scale = bitcast<f32>((254u - exponent) << 23u);
    return Scale(scaled(used.min, scale), scaled(used.max, scale), limit, scale, used.count);
}
