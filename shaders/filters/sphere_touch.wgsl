// The exact test of two spheres. Shared, together with long_add.wgsl and float_parts.wgsl, by the kernels that test
// pairs and by the kernels that answer queries. A sphere is a centre and a radius, in bits of f32. A sphere with a NaN
// radius has no points; a sphere with an infinite radius has all points.
//
// Reads   filter_layout, filters
//
// Most spheres are decided in f32, with a bound for all roundings. Other spheres are decided exactly, by sums of
// products of four f32, in integers. Such a product is an integer below 2^96 times a power of two of at least 2^-596.
// In units of 2^-600, twice thirteen products take 1131 bits. The twin of src/filters/spheres.rs.

// The largest length whose square certainly does not overflow.
const USUAL_LENGTH: f32 = 1.1529215e18; // 2^60
// Error bounds of a comparison of two squares, each rounded to f32 about six times: the relative error, and the error
// by flushes to zero.
const SQUARE_ROUNDING: f32 = 1.9073486e-6; // 2^-19
const SQUARE_FLUSHED: f32 = 1.8807910e-37; // 2^-122

// The words of a sum in two's complement, from the lowest.
var<private> square_words: array<vec4<u32>, 9>;

// Returns the sphere of a box.
fn sphere_of(i: u32) -> vec4<u32> {
    let at = filter_layout.sphere + 4u * i;
    return vec4<u32>(filters[at], filters[at + 1u], filters[at + 2u], filters[at + 3u]);
}

fn spheres_touch(a: vec4<u32>, b: vec4<u32>) -> bool {
    let touch = touch_in_f32(a, b);
    if touch == 0 {
        return is_sum_at_most_zero(a, b, 0u, false);
    }
    return touch > 0;
}

// Returns 1 if two spheres have a point in common, -1 if not, and 0 if f32 leaves it undecided.
fn touch_in_f32(a: vec4<u32>, b: vec4<u32>) -> i32 {
    let larger = max(a.w, b.w);
    if larger >= 0x7f800000u {
        return select(-1, 1, larger == 0x7f800000u);
    }
    let one = bitcast<vec4<f32>>(a);
    let other = bitcast<vec4<f32>>(b);
    if all(max(abs(one), abs(other)) <= vec4<f32>(USUAL_LENGTH)) {
        let apart = one.xyz - other.xyz;
        let distance = apart.x * apart.x + apart.y * apart.y + apart.z * apart.z;
        let radius = one.w + other.w;
        let reach = radius * radius;
        if abs(distance - reach) > max(distance, reach) * SQUARE_ROUNDING + SQUARE_FLUSHED {
            return select(-1, 1, distance < reach);
        }
    }
    return 0;
}

// ---- without rounding ----

// For two spheres: returns whether the squared distance is at most the square of the sum of the radii, with (a - b)^2
// computed as a a - 2 a b + b b. For a plane and a centre: returns whether the squared height is at most the square of
// the radius times the normal's length. Both cases share one loop, since drivers inline each call.
fn is_sum_at_most_zero(a: vec4<u32>, b: vec4<u32>, radius: u32, is_plane: bool) -> bool {
    square_words = array<vec4<u32>, 9>();
    for (var turn = 0u; turn < select(12u, 13u, is_plane); turn += 1u) {
        var factors = vec4<u32>(ONE);
        var is_double = false;
        if !is_plane {
            let k = turn / 3u;
            let part = turn % 3u;
            is_double = part == 1u;
            let flip = select(0u, 0x80000000u, is_double || k == 3u);
            factors.x = select(a[k], b[k], part == 2u) ^ flip;
            factors.y = select(b[k], a[k], part == 0u);
        } else if turn < 10u {
            // Visit each pair i <= j of the four products.
            let i = select(0u, 1u, turn >= 4u) + select(0u, 1u, turn >= 7u) + select(0u, 1u, turn >= 9u);
            let j = turn - i * (7u - i) / 2u;
            is_double = i != j;
            factors = vec4<u32>(a[i], b[i], a[j], b[j]);
        } else {
            let n = a[turn - 10u];
            factors = vec4<u32>(radius ^ 0x80000000u, radius, n, n);
        }
        add_squares(factors, select(0u, 1u, is_double));
    }
    let low = (square_words[0] | square_words[1]) | (square_words[2] | square_words[3]);
    let high = (square_words[4] | square_words[5]) | (square_words[6] | square_words[7]) | square_words[8];
    return square_words[8].w >= 0x80000000u || all((low | high) == vec4<u32>(0u));
}

// Adds the product of four finite f32, in bits, times 2^more.
fn add_squares(factors: vec4<u32>, more: u32) {
    let sizes = factors & vec4<u32>(0x7fffffffu);
    let powers = power_part(sizes.xyz);
    let at = powers.x + powers.y + powers.z + power_part(sizes.www).x + more;
    let signs = (factors.x ^ factors.y) ^ (factors.z ^ factors.w);
    // To subtract in two's complement: invert all bits, add, and invert the result.
    let turned = vec4<u32>(select(0u, 0xffffffffu, signs >= 0x80000000u));
    let first = product64(whole_part(sizes.xyz).x, whole_part(sizes.xyz).y);
    let second = product64(whole_part(sizes.xyz).z, whole_part(sizes.www).x);
    // Multiply by the second 48-bit factor in three parts of 16 bits, so that each product has 64 bits.
    for (var k = 0u; k < 3u; k += 1u) {
        let part = select(select(second.y, second.x >> 16u, k == 1u), second.x & 0xffffu, k == 0u);
        add_part(first, part, at + 16u * k, turned);
    }
}

// Adds the product of a 48-bit number and a 16-bit number, times 2^at.
fn add_part(number: vec2<u32>, part: u32, at: u32, turned: vec4<u32>) {
    let lowest = (number.x & 0xffffu) * part;
    let middle = (number.x >> 16u) * part;
    let low = lowest + (middle << 16u);
    let high = number.y * part + (middle >> 16u) + select(0u, 1u, low < lowest);
    let shift = at & 31u;
    let words = vec3<u32>(
        low << shift,
        (high << shift) | ((low >> 1u) >> (31u - shift)),
        (high >> 1u) >> (31u - shift),
    );
    var carry = 0u;
    let place = vec4<u32>(0u, 1u, 2u, 3u) - vec4<u32>(at / 32u);
    square_words[0] = added(square_words[0] ^ turned, words, place, &carry) ^ turned;
    square_words[1] = added(square_words[1] ^ turned, words, place + vec4<u32>(4u), &carry) ^ turned;
    square_words[2] = added(square_words[2] ^ turned, words, place + vec4<u32>(8u), &carry) ^ turned;
    square_words[3] = added(square_words[3] ^ turned, words, place + vec4<u32>(12u), &carry) ^ turned;
    square_words[4] = added(square_words[4] ^ turned, words, place + vec4<u32>(16u), &carry) ^ turned;
    square_words[5] = added(square_words[5] ^ turned, words, place + vec4<u32>(20u), &carry) ^ turned;
    square_words[6] = added(square_words[6] ^ turned, words, place + vec4<u32>(24u), &carry) ^ turned;
    square_words[7] = added(square_words[7] ^ turned, words, place + vec4<u32>(28u), &carry) ^ turned;
    square_words[8] = added(square_words[8] ^ turned, words, place + vec4<u32>(32u), &carry) ^ turned;
}
