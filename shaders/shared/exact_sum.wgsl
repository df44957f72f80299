// Computes the exact sign of a sum of products of f32. Shared, together with float_parts.wgsl, by the kernels that
// decide cases that rounding leaves undecided.
//
// The sum is computed in integers, since WGSL has no f64, and f32 overflows and flushes denormals. Each term is an
// integer below 2^49 times a power of two. Terms are added from the highest power to the lowest, each time in units of
// the next power. If the sum is at least 2^55 such units, its sign is final, since at most three terms remain, each
// below 2^49 of these units. A smaller sum is exact in 64 bits. So no bit is lost if terms cancel, and otherwise the
// lower bits do not matter.
//
// Source: a long accumulator, Kulisch and Miranker 1981, Computer Arithmetic in Theory and Practice, of which only the
// leading 64 bits are stored.

// A term, or a sum of terms: 64 bits in two's complement, times 2^power.
struct Term {
    low: u32,
    high: u32,
    power: i32,
}

// Returns a.x b.x + a.y b.y + a.z b.z + a.w b.w, with the right sign. All components must be bits of finite f32;
// otherwise the result is undefined.
fn sum_of_products(a: vec4<u32>, b: vec4<u32>) -> Term {
    var x = product_of(a.x, b.x);
    var y = product_of(a.y, b.y);
    var z = product_of(a.z, b.z);
    var w = product_of(a.w, b.w);
    sort_terms(&x, &y);
    sort_terms(&z, &w);
    sort_terms(&x, &z);
    sort_terms(&y, &w);
    sort_terms(&y, &z);
    return plus_term(plus_term(plus_term(x, y), z), w);
}

// Returns the product of two f32, in bits.
fn product_of(a: u32, b: u32) -> Term {
    let bits = vec3<u32>(a, b, 0u) & vec3<u32>(0x7fffffffu);
    let wholes = whole_part(bits);
    let powers = power_part(bits);
    let product = product64(wholes.x, wholes.y);
    return term(product.x, product.y, i32(powers.x + powers.y), (a ^ b) >= 0x80000000u);
}

// Returns -1, 0 or 1 for a sum below, at or above zero.
fn sign_of(sum: Term) -> i32 {
    return select(select(1, 0, (sum.high | sum.low) == 0u), -1, sum.high >= 0x80000000u);
}

fn term(low: u32, high: u32, power: i32, is_negative: bool) -> Term {
    let negated_high = ~high + select(0u, 1u, low == 0u);
    return Term(select(low, ~low + 1u, is_negative), select(high, negated_high, is_negative), power);
}

// Swaps two terms, so that `a` has the higher power.
fn sort_terms(a: ptr<function, Term>, b: ptr<function, Term>) {
    let first = *a;
    let second = *b;
    let is_sorted = first.power >= second.power;
    *a = Term(
        select(second.low, first.low, is_sorted),
        select(second.high, first.high, is_sorted),
        max(first.power, second.power),
    );
    *b = Term(
        select(first.low, second.low, is_sorted),
        select(first.high, second.high, is_sorted),
        min(first.power, second.power),
    );
}

// Returns sum + next. `next` must not have a higher power. If the sign of the sum is final, returns the sum unchanged;
// its sign is then final for all later terms too.
fn plus_term(sum: Term, next: Term) -> Term {
    // The smallest number `bits` so that -2^bits <= sum < 2^bits.
    let sign = select(0u, 0xffffffffu, sum.high >= 0x80000000u);
    let high_bits = 32u - countLeadingZeros(sum.high ^ sign);
    let low_bits = 32u - countLeadingZeros(sum.low ^ sign);
    let bits = select(32u + high_bits, low_bits, high_bits == 0u);
    let up = u32(sum.power - next.power);
    let is_final = bits + up > 55u && (sum.high | sum.low) != 0u;

    // Shift the sum to units of `next`: by less than 64 bits, unless the sum is zero.
    let shift = up & 31u;
    let shifted_low = sum.low << shift;
    let shifted_high = (sum.high << shift) | ((sum.low >> 1u) >> (31u - shift));
    let low = select(shifted_low, 0u, up >= 32u);
    let high = select(shifted_high, shifted_low, up >= 32u);
    let total_low = low + next.low;
    let total_high = high + next.high + select(0u, 1u, total_low < low);
    return Term(
        select(total_low, sum.low, is_final),
        select(total_high, sum.high, is_final),
        select(next.power, sum.power, is_final),
    );
}
