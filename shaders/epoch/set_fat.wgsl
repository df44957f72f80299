// Writes the grown box of a slot (fat.wgsl).
fn set_fat(i: u32, low: vec3<u32>, high: vec3<u32>) {
    fat[i * 3u] = low.xy;
    fat[i * 3u + 1u] = vec2<u32>(low.z, high.x);
    fat[i * 3u + 2u] = high.yz;
}
