// prepare_points: derives the boxes and spheres of points.
//
// Reads   change      the point count, the start of the spheres, and the radius of all points or a NaN
//         points      [change.count] centre and radius, bits of f32
// Writes  boxes       [change.count * 3] bits of f32, two at a time: the smallest boxes that contain the exact spheres.
//                     All bounds are NaNs if a number is not finite or the radius is negative
//         words       [4 * change.count] the spheres, from change.place on
//
// An invocation per point.

@group(0) @binding(0) var<uniform> change: FilterChange;
@group(0) @binding(1) var<storage, read> points: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> words: array<u32>;

const NO_NUMBER: vec3<u32> = vec3<u32>(0x7fc00000u);

@compute @workgroup_size(256)
fn prepare_points(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group_index(group, groups) * 256u + local;
    if i >= change.count {
        return;
    }
    let point = points[i];
    var radius = select(change.radius, point.w, change.radius > INFINITY);
    let is_finite = all((vec4<u32>(point.xyz, radius) & vec4<u32>(~SIGN)) < vec4<u32>(INFINITY));
    // A radius of -0 is valid too.
    let is_valid = is_finite && radius <= SIGN;
    radius &= ~SIGN;
    let low = sum_rounded_up(point.xyz ^ vec3<u32>(SIGN), vec3<u32>(radius)) ^ vec3<u32>(SIGN);
    let high = sum_rounded_up(point.xyz, vec3<u32>(radius));
    let min = select(NO_NUMBER, low, is_valid);
    let max = select(NO_NUMBER, high, is_valid);
    boxes[i * 3u] = min.xy;
    boxes[i * 3u + 1u] = vec2<u32>(min.z, max.x);
    boxes[i * 3u + 2u] = max.yz;
    let sphere = vec4<u32>(point.xyz, radius);
    for (var part = 0u; part < 4u; part += 1u) {
        words[change.place + 4u * i + part] = sphere[part];
    }
}
