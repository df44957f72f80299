// Whether a box meets a half-space, exactly: the sign of n.x c.x + n.y c.y + n.z c.z - d, without rounding. Shared,
// together with float_parts.wgsl, by the kernels that filter pairs of which one box stands for a half-space.
//
// In integers, since WGSL has no f64, and its f32 overflows and flushes denormals. Each of the four terms is a whole
// number of less than 2^48 times a power of two. They are added from the highest power to the lowest, each time in
// units of the power that is next. A sum of 2^51 such units or more has its sign for good: the terms left are three at
// most, each of less than 2^48 of these units. Any other sum is exact in 64 bits. Nothing is lost where terms
// cancel; where they do not cancel, the lower bits need not be kept.
// Source: a long accumulator, Kulisch and Miranker 1981, Computer Arithmetic in Theory and Practice, of which only the
// leading 64 bits are kept.

// A term, or a sum of terms: 64 bits in two's complement, times 2^power.
struct Term {
    low: u32,
    high: u32,
    power: i32,
}

// Decides as `HalfSpace::touches`, for a normal and an offset that are finite and a box that is valid, all in bits.
fn half_space_touches(normal_bits: vec3<u32>, offset_bits: u32, min_bits: vec3<u32>, max_bits: vec3<u32>) -> bool {
    let sign = vec3<u32>(0x80000000u);
    // The corner that lies deepest. Where the normal is zero, of either sign, any will do.
    let corner_bits = select(max_bits, min_bits, normal_bits < sign);
    let normal = normal_bits & ~sign;
    let corner = corner_bits & ~sign;
    let is_negative = (normal_bits ^ corner_bits) >= sign;

    // Multiplied in halves of 12 bits.
    let n = whole_part(normal);
    let c = whole_part(corner);
    let half = vec3<u32>(0xfffu);
    let shift = vec3<u32>(12u);
    let lows = (n & half) * (c & half);
    let middles = (n & half) * (c >> shift) + (n >> shift) * (c & half) + (lows >> shift);
    let product_low = n * c;
    let product_high = ((n >> shift) * (c >> shift) + (middles >> shift)) >> vec3<u32>(8u);
    let power = vec3<i32>(power_part(normal) + power_part(corner));
    var x = term(product_low.x, product_high.x, power.x, is_negative.x);
    var y = term(product_low.y, product_high.y, power.y, is_negative.y);
    var z = term(product_low.z, product_high.z, power.z, is_negative.z);
    // Times one, whose power is 150.
    let offset = vec3<u32>(offset_bits & 0x7fffffffu);
    var w = term(whole_part(offset).x, 0u, i32(power_part(offset).x) + 150, offset_bits < 0x80000000u);

    sort_terms(&x, &y);
    sort_terms(&z, &w);
    sort_terms(&x, &z);
    sort_terms(&y, &w);
    sort_terms(&y, &z);
    let sum = plus_term(plus_term(plus_term(x, y), z), w);
    let is_within = sum.high >= 0x80000000u || (sum.high | sum.low) == 0u;

    // Infinitely far inside along one coordinate is inside, whatever the others are.
    let is_infinite = (corner == vec3<u32>(0x7f800000u)) & (normal != vec3<u32>(0u));
    return any(is_infinite & is_negative) || (is_within && !any(is_infinite));
}

fn term(low: u32, high: u32, power: i32, is_negative: bool) -> Term {
    let negated_high = ~high + select(0u, 1u, low == 0u);
    return Term(select(low, ~low + 1u, is_negative), select(high, negated_high, is_negative), power);
}

// Swaps two terms, so that the one of the higher power is `a`.
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

// Returns sum + next, of which `next` has no higher power; or the sum as it is, where its sign is final: then it is so
// for every later term too.
fn plus_term(sum: Term, next: Term) -> Term {
    // The sum is at least -2^bits and less than 2^bits, for no smaller number than this.
    let sign = select(0u, 0xffffffffu, sum.high >= 0x80000000u);
    let high_bits = 32u - countLeadingZeros(sum.high ^ sign);
    let low_bits = 32u - countLeadingZeros(sum.low ^ sign);
    let bits = select(32u + high_bits, low_bits, high_bits == 0u);
    let up = u32(sum.power - next.power);
    let is_final = bits + up > 51u && (sum.high | sum.low) != 0u;

    // In units of `next`: shifted up by less than 64 bits, unless it is zero.
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
