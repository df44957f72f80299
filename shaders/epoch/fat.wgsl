// The grown boxes of an epoch. Shared by the kernels that bind `fat`: [slots * 3] bits of f32, two at a time, in the order of
// the input boxes (boxes.wgsl). A slot without a box has one that nothing touches.

fn fat_low(i: u32) -> vec3<u32> {
    return vec3<u32>(fat[i * 3u], fat[i * 3u + 1u].x);
}

fn fat_high(i: u32) -> vec3<u32> {
    return vec3<u32>(fat[i * 3u + 1u].y, fat[i * 3u + 2u]);
}
