// pca_bounds: finds the bounds of the finite boxes, as a partial result per workgroup.
//
// Reads   boxes    [box_count * 3] bits of f32, two at a time; and the same four at a time as box_quads
// Writes  bounds   [pca_groups]
//
// There are separate bounds for boxes of ordinary magnitude and for all finite boxes, since a sentinel such as FLT_MAX
// would scale all other boxes to zero. Minimum and maximum do not depend on order, so the result is the same on every
// run.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> bounds: array<BoundsPartial>;
@group(0) @binding(3) var<storage, read> box_quads: array<vec4<u32>>;

// Returns the bounds with a box added.
fn with_box(before: BoundsPartial, bits: LoadedBox) -> BoundsPartial {
    var partial = before;
    if kind_of(bits.min, bits.max) == KIND_FINITE {
        let own = Bounds(bitcast<vec3<f32>>(bits.min), 1u, bitcast<vec3<f32>>(bits.max), 0u);
        partial.finite = united(partial.finite, own);
        if is_within(bits.min, bits.max, ORDINARY_MAX) {
            partial.ordinary = united(partial.ordinary, own);
        }
    }
    return partial;
}

@compute @workgroup_size(128)
fn pca_bounds(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let stride = pca_groups(params.box_count) * 128u;
    var mine = BoundsPartial(no_bounds(), no_bounds());
    // Four boxes are loaded at once, to hide latency. The stride is even.
    let is_odd = local % 2u == 1u;
    for (var i = group.x * 128u + local; i < params.box_count; i += 4u * stride) {
        let a = load_words(i);
        let b = load_words(i + stride);
        let c = load_words(i + 2u * stride);
        let d = load_words(i + 3u * stride);
        mine = with_box(mine, box_of(a, is_odd));
        mine = with_box(mine, box_of(b, is_odd));
        mine = with_box(mine, box_of(c, is_odd));
        mine = with_box(mine, box_of(d, is_odd));
    }
    let all_bounds = reduce_both(local, mine);
    if local == 0u {
        bounds[group.x] = all_bounds;
    }
}
