// Computes the exact sum of any products of f32, in an integer of 640 bits. Shared, together with float_parts.wgsl, by
// the kernels that compare distances.
//
// A product is an integer below 2^48 times a power of two from 2^-298 to 2^208; doubled products are added too. In
// units of 2^-300, they take bits 2 to 556, and a sum of eighteen takes five more bits. So the sum is exact, in any
// order. No array is dynamically indexed, since such arrays spill to memory on a GPU.
//
// Source: Kulisch and Miranker 1981, Computer Arithmetic in Theory and Practice.

// The words of the sum in two's complement, from the lowest.
var<private> sum_words: array<vec4<u32>, 5>;

fn begin_sum() {
    let none = vec4<u32>(0u);
    sum_words = array<vec4<u32>, 5>(none, none, none, none, none);
}

// Adds a product times 2^more. If a number is not finite, the sum is undefined.
fn add_product(a_bits: u32, b_bits: u32, more: u32) {
    let bits = vec3<u32>(a_bits, b_bits, 0u) & vec3<u32>(0x7fffffffu);
    let wholes = whole_part(bits);
    let powers = power_part(bits);
    let product = product64(wholes.x, wholes.y);
    let at = powers.x + powers.y + more;
    // The product covers three words of the sum, from word `at / 32` on.
    let shift = at & 31u;
    let words = vec3<u32>(
        product.x << shift,
        (product.y << shift) | ((product.x >> 1u) >> (31u - shift)),
        (product.y >> 1u) >> (31u - shift),
    );
    // To subtract in two's complement: invert all bits, add, and invert the result.
    let turned = vec4<u32>(select(0u, 0xffffffffu, (a_bits ^ b_bits) >= 0x80000000u));
    var carry = 0u;
    let number = vec4<u32>(0u, 1u, 2u, 3u) - vec4<u32>(at / 32u);
    sum_words[0] = added(sum_words[0] ^ turned, words, number, &carry) ^ turned;
    sum_words[1] = added(sum_words[1] ^ turned, words, number + vec4<u32>(4u), &carry) ^ turned;
    sum_words[2] = added(sum_words[2] ^ turned, words, number + vec4<u32>(8u), &carry) ^ turned;
    sum_words[3] = added(sum_words[3] ^ turned, words, number + vec4<u32>(12u), &carry) ^ turned;
    sum_words[4] = added(sum_words[4] ^ turned, words, number + vec4<u32>(16u), &carry) ^ turned;
}

// Returns -1, 0 or 1 for a sum below, at or above zero.
fn sign_of_sum() -> i32 {
    let any_bits = (sum_words[0] | sum_words[1]) | (sum_words[2] | sum_words[3]) | sum_words[4];
    return select(select(0, 1, any(any_bits != vec4<u32>(0u))), -1, sum_words[4].w >= 0x80000000u);
}
