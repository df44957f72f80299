// Writes a box that is searched; NaNs in place of one that is not. Shared by the kernels that bind `searched`: [slots * 3] bits of
// f32, two at a time, in the order of the input boxes (boxes.wgsl).
fn set_searched(i: u32, low: vec3<u32>, high: vec3<u32>, is_searched: bool) {
    let none = vec2<u32>(NO_BOUND);
    searched[i * 3u] = select(none, low.xy, is_searched);
    searched[i * 3u + 1u] = select(none, vec2<u32>(low.z, high.x), is_searched);
    searched[i * 3u + 2u] = select(none, high.yz, is_searched);
}
