// Computes places along a Hilbert curve through a grid with CURVE_SIDE places along each axis. Shared by the kernels
// that order boxes and queries. Source: Skilling 2004, Programming the Hilbert curve.

// Returns the class of a box: 0 for usual size, 1 for finite and enormous, 2 for unbounded, 3 for invalid.
fn class_of(min_bits: vec3<u32>, max_bits: vec3<u32>) -> u32 {
    let kind = kind_of(min_bits, max_bits);
    if kind != KIND_FINITE {
        return kind + 1u;
    }
    let sign = vec3<u32>(0x80000000u);
    let is_usual = all(max(min_bits & ~sign, max_bits & ~sign) <= vec3<u32>(USUAL_BITS));
    return select(1u, 0u, is_usual);
}

// Returns the centre of a finite box, in units of 2^6.
fn center_of(min_bits: vec3<u32>, max_bits: vec3<u32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(min_bits) / 128.0 + bitcast<vec3<f32>>(max_bits) / 128.0;
}

// Returns the place of a point, in units of 2^6. A point beyond the cube is moved to its surface.
fn place_of(point: vec3<f32>, cube: Cube) -> u32 {
    let last = vec3<f32>(f32(CURVE_SIDE - 1u));
    return hilbert(vec3<u32>(clamp((point - cube.low) * cube.scale, vec3<f32>(0.0), last)));
}

// Returns the place along the curve of a cell of the grid, in PLACE_BITS bits.
fn hilbert(at: vec3<u32>) -> u32 {
    var x = at;
    for (var bit = CURVE_SIDE / 2u; bit > 1u; bit >>= 1u) {
        let below = bit - 1u;
        x.x ^= select(0u, below, (x.x & bit) != 0u);
        let y = select((x.x ^ x.y) & below, 0u, (x.y & bit) != 0u);
        x.x ^= select(y, below, (x.y & bit) != 0u);
        x.y ^= y;
        let z = select((x.x ^ x.z) & below, 0u, (x.z & bit) != 0u);
        x.x ^= select(z, below, (x.z & bit) != 0u);
        x.z ^= z;
    }
    x.y ^= x.x;
    x.z ^= x.y;
    var turned = 0u;
    for (var bit = CURVE_SIDE / 2u; bit > 1u; bit >>= 1u) {
        turned ^= select(0u, bit - 1u, (x.z & bit) != 0u);
    }
    x ^= vec3<u32>(turned);
    let spread = spread_bits(x);
    return (spread.x << 2u) | (spread.y << 1u) | spread.z;
}

// Moves bit k of nine to bit 3 k.
fn spread_bits(bits: vec3<u32>) -> vec3<u32> {
    var x = bits;
    x = (x | (x << vec3<u32>(16u))) & vec3<u32>(0x030000ffu);
    x = (x | (x << vec3<u32>(8u))) & vec3<u32>(0x0300f00fu);
    x = (x | (x << vec3<u32>(4u))) & vec3<u32>(0x030c30c3u);
    return (x | (x << vec3<u32>(2u))) & vec3<u32>(0x09249249u);
}
