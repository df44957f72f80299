// prepare_planes: copies half-spaces from an external buffer.
//
// Reads   change      the start of the half-spaces, and the range that changes
//         new_values  [change.count] normal and offset, bits of f32
// Changes words       [4 * change.count from there on] the same; an empty half-space if a number is not finite or the
//                     normal is zero
//
// An invocation per half-space.

@group(0) @binding(0) var<uniform> change: FilterChange;
@group(0) @binding(1) var<storage, read> new_values: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;

// The points with 0 <= -1.
const EMPTY: vec4<u32> = vec4<u32>(0u, 0u, 0u, 0xbf800000u);

@compute @workgroup_size(256)
fn prepare_planes(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = group_index(group, groups) * 256u + local;
    if k >= change.count {
        return;
    }
    let result = new_values[k];
    let sizes = result & vec4<u32>(0x7fffffffu);
    let is_finite = all(sizes < vec4<u32>(0x7f800000u));
    let has_normal = any(sizes.xyz != vec3<u32>(0u));
    let plane = select(EMPTY, result, is_finite && has_normal);
    for (var i = 0u; i < 4u; i += 1u) {
        words[change.place + 4u * (change.first + k) + i] = plane[i];
    }
}
