// The writing of what row_bounds.wgsl reads.

fn write_bounds(at: u32, bounds: OrderedBox) {
    let low = bitcast<vec3<u32>>(bounds.min);
    let high = bitcast<vec3<u32>>(bounds.max);
    row_bounds[at * 3u] = low.xy;
    row_bounds[at * 3u + 1u] = vec2<u32>(low.z, high.x);
    row_bounds[at * 3u + 2u] = high.yz;
}
