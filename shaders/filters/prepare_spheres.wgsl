// prepare_spheres: copies the spheres of boxes from an external buffer, padded by the margins of the boxes.
//
// Reads   change      the start of the list, and the range of boxes that change
//         new_values  [change.count] centre and radius, bits of f32
//         margins     [box_count] bits of f32, finite and not negative; values beyond the end count as zero
// Changes words       [4 * box_count] the list: centre and padded radius, rounded up. The radius is a NaN, so that the
//                     sphere has no points, if the centre is not finite, or the radius negative or a NaN
//
// An invocation per sphere.

@group(0) @binding(0) var<uniform> change: FilterChange;
@group(0) @binding(1) var<storage, read> new_values: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> margins: array<u32>;
@group(0) @binding(3) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(256)
fn prepare_spheres(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = group_index(group, groups) * 256u + local;
    if k >= change.count {
        return;
    }
    let i = change.first + k;
    let sphere = new_values[k];
    var margin = 0u;
    if i < arrayLength(&margins) {
        // Clear the sign, since a margin may be -0.
        margin = margins[i] & ~SIGN;
    }
    let is_finite = all((sphere.xyz & vec3<u32>(~SIGN)) < vec3<u32>(INFINITY));
    let is_radius = sphere.w <= INFINITY || sphere.w == SIGN;
    let radius = sum_rounded_up(vec3<u32>(sphere.w & ~SIGN), vec3<u32>(margin)).x;
    let padded = vec4<u32>(sphere.xyz, select(0x7fc00000u, radius, is_finite && is_radius));
    for (var part = 0u; part < 4u; part += 1u) {
        words[change.place + 4u * i + part] = padded[part];
    }
}
