// Marks the boxes that the sphere touches, in the eighth u32 of their contacts.

@group(0) @binding(0) var<storage, read> header: array<u32, 8>;
// Pairs of the sphere, which has index 0, and a box.
@group(0) @binding(1) var<storage, read> answers: array<vec2u>;
@group(0) @binding(2) var<storage, read_write> contacts: array<i32>;

@compute @workgroup_size(256)
fn mark(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.x + id.y * groups.x * 256u;
    if i < header[4] {
        contacts[8u * answers[i].y + 7u] = 1;
    }
}
