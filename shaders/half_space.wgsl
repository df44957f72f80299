fn half_space_touches(normal_bits: vec3<u32>, offset_bits: u32, min_bits: vec3<u32>, max_bits: vec3<u32>) -> bool {
    return true;
}
