// pca_bounds: the bounds of the finite boxes, a partial result per workgroup.
//
// Reads   boxes    [box_count * 3] bits of f32, two at a time
// Writes  bounds   [pca_groups]
// Two sets of boxes are kept apart: those whose coordinates are of ordinary magnitude, and all finite ones.
// A single sentinel such as FLT_MAX would otherwise scale every other box to nothing.
// Minimum and maximum do not depend on order, so the result is the same on every run.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> bounds: array<BoundsPartial>;

@compute @workgroup_size(128)
fn pca_bounds(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let stride = pca_groups(params.box_count) * 128u;
    var ordinary = no_bounds();
    var finite = no_bounds();
    for (var i = group.x * 128u + local; i < params.box_count; i += stride) {
        let min_bits = min_bits_of(i);
        let max_bits = max_bits_of(i);
        if kind_of(min_bits, max_bits) == KIND_FINITE {
            let low = bitcast<vec3<f32>>(min_bits);
            let high = bitcast<vec3<f32>>(max_bits);
            let own = Bounds(low, 1u, high, 0u);
            finite = united(finite, own);
            if is_within(min_bits, max_bits, ORDINARY_MAX) {
                ordinary = united(ordinary, own);
            }
        }
    }
    let all_bounds = reduce_both(local, BoundsPartial(ordinary, finite));
    if local == 0u {
        bounds[group.x] = all_bounds;
    }
}
