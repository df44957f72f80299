// IEEE 754 arithmetic of 64-bit numbers, in two words, the lower first: sums, products, quotients and roots, rounded to
// nearest, ties to even. Computed in integers, since WGSL has no f64; the bits are the same as on the host. Shared by
// the kernels with round shapes and half-spaces.
//
// Operands must be finite. A result beyond the largest number is infinite. SIGN is also the sign bit of the higher
// word.

// The ways to round.
const TO_NEAREST: u32 = 0u;
// Rounds towards zero, or away from zero.
const TO_ZERO: u32 = 1u;
const FROM_ZERO: u32 = 2u;

// A number: bits times 2^power, with a sign. The highest of 64 bits is set, except in zero. If bits were lost, the
// lowest bit is set (a sticky bit).
struct Wide {
    sign: u32,
    power: i32,
    bits: vec2<u32>,
}

// ---- 64 bits ----

fn shl64(bits: vec2<u32>, by: u32) -> vec2<u32> {
    let within = by % 32u;
    let high = (bits.y << within) | ((bits.x >> 1u) >> (31u - within));
    return select(vec2<u32>(bits.x << within, high), vec2<u32>(0u, bits.x << within), by >= 32u);
}

// Shifts right by any number; from 64 on, the result is zero.
fn shr64(bits: vec2<u32>, by: u32) -> vec2<u32> {
    let within = by % 32u;
    let low = (bits.x >> within) | ((bits.y << 1u) << (31u - within));
    let short = select(vec2<u32>(low, bits.y >> within), vec2<u32>(bits.y >> within, 0u), by >= 32u);
    return select(short, vec2<u32>(0u), by >= 64u);
}

fn is_zero64(bits: vec2<u32>) -> bool {
    return (bits.x | bits.y) == 0u;
}

// Returns `bits` with the lowest bit set if any bit of `lost` is set.
fn with_lost(bits: vec2<u32>, lost: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(bits.x | select(1u, 0u, is_zero64(lost)), bits.y);
}

// ---- between numbers and bits ----

// Returns bits times 2^power as a Wide.
fn wide(sign: u32, power: i32, bits: vec2<u32>) -> Wide {
    let zeros = select(countLeadingZeros(bits.y), 32u + countLeadingZeros(bits.x), bits.y == 0u);
    return Wide(sign, power - i32(zeros), shl64(bits, zeros));
}

fn unpacked(number: vec2<u32>) -> Wide {
    let exponent = (number.y >> 20u) & 0x7ffu;
    let leading = select(0x100000u, 0u, exponent == 0u);
    let bits = vec2<u32>(number.x, (number.y & 0xfffffu) | leading);
    return wide(number.y & SIGN, i32(max(exponent, 1u)) - 1075, bits);
}

// Returns 2^-power.
fn half_to(power: u32) -> vec2<u32> {
    return vec2<u32>(0u, (1023u - power) << 20u);
}

// Returns an f32, given in bits, as a 64-bit number.
fn widened(bits: u32) -> vec2<u32> {
    let exponent = (bits >> 23u) & 0xffu;
    let leading = select(0x800000u, 0u, exponent == 0u);
    let part = (bits & 0x7fffffu) | leading;
    return packed(wide(bits & SIGN, i32(max(exponent, 1u)) - 150, vec2<u32>(part, 0u)));
}

// Returns the bits without the lowest `count` bits, rounded. `count` must not be 0.
fn rounded(bits: vec2<u32>, count: u32, way: u32) -> vec2<u32> {
    let with_half = shr64(bits, count - 1u);
    let halved = shr64(with_half, 1u);
    let is_half = (with_half.x & 1u) == 1u;
    // A shift by 64 or more gives zero.
    let is_more = any(shl64(with_half, min(count - 1u, 63u)) != bits);
    let is_nearer = is_half && (is_more || (halved.x & 1u) == 1u);
    let is_up = select(is_nearer, is_half || is_more, way == FROM_ZERO) && way != TO_ZERO;
    return add64(halved, vec2<u32>(select(0u, 1u, is_up), 0u));
}

fn packed(number: Wide) -> vec2<u32> {
    let sign = vec2<u32>(0u, number.sign);
    if is_zero64(number.bits) {
        return sign;
    }
    // The mantissa has 53 bits, or fewer if its last bit would be below 2^-1074.
    let mantissa = rounded(number.bits, u32(max(11, -1074 - number.power)), TO_NEAREST);
    // The leading bit adds one to the exponent, and so does a carry.
    let exponent = u32(max(number.power + 1085, 0));
    if exponent >= 2046u {
        return sign | vec2<u32>(0u, 0x7ff00000u);
    }
    return sign | vec2<u32>(mantissa.x, mantissa.y + (exponent << 20u));
}

// Returns an f32, in bits.
fn narrowed(number: Wide, way: u32) -> u32 {
    if is_zero64(number.bits) {
        return number.sign;
    }
    let mantissa = rounded(number.bits, u32(max(40, -149 - number.power)), way).x;
    let exponent = u32(max(number.power + 189, 0));
    if exponent >= 254u {
        return number.sign | select(INFINITY, INFINITY - 1u, way == TO_ZERO);
    }
    return number.sign | (mantissa + (exponent << 23u));
}

// Returns the smallest f32 that is at least the number, in bits.
fn narrowed_up(number: Wide) -> u32 {
    return narrowed(number, select(FROM_ZERO, TO_ZERO, number.sign != 0u));
}

// Clamps a bound, in bits, to the largest finite number, since no shape has a point at infinity.
fn finite_bound(bits: u32) -> u32 {
    return bits - select(0u, 1u, (bits & ~SIGN) == INFINITY);
}

// ---- arithmetic ----

fn negative(number: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(number.x, number.y ^ SIGN);
}

fn magnitude(number: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(number.x, number.y & ~SIGN);
}

// Returns whether a is less than b; 0 and -0 are equal.
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {
    let sizes = vec4<u32>(magnitude(a), magnitude(b));
    if is_zero64(sizes.xy | sizes.zw) {
        return false;
    }
    if (a.y ^ b.y) >= SIGN {
        return a.y >= SIGN;
    }
    return select(less64(sizes.xy, sizes.zw), less64(sizes.zw, sizes.xy), a.y >= SIGN);
}

// Returns a sum, before it is rounded.
fn exact_sum(a: vec2<u32>, b: vec2<u32>) -> Wide {
    let is_in_order = less64(magnitude(b), magnitude(a));
    let large = unpacked(select(b, a, is_in_order));
    let small = unpacked(select(a, b, is_in_order));
    // Shift by one more bit, for a carry. No bit of a 53-bit mantissa is lost.
    let by = min(u32(large.power - small.power), 62u) + 1u;
    let shifted = shr64(small.bits, by);
    let addend = with_lost(shifted, shl64(shifted, by) ^ small.bits);
    let bits = shr64(large.bits, 1u);
    if large.sign == small.sign {
        return wide(large.sign, large.power + 1, add64(bits, addend));
    }
    let difference = sub64(bits, addend);
    return wide(select(large.sign, 0u, is_zero64(difference)), large.power + 1, difference);
}

fn sum(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return packed(exact_sum(a, b));
}

fn product(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let x = unpacked(a);
    let y = unpacked(b);
    let lows = mul64(x.bits.x, y.bits.x);
    // Neither sum overflows: a product of words is at most 2^64 - 2^33 + 1.
    let middle = add64(mul64(x.bits.x, y.bits.y), vec2<u32>(lows.y, 0u));
    let other = add64(mul64(x.bits.y, y.bits.x), vec2<u32>(middle.x, 0u));
    let highs = add64(mul64(x.bits.y, y.bits.y), add64(vec2<u32>(middle.y, 0u), vec2<u32>(other.y, 0u)));
    let bits = with_lost(highs, vec2<u32>(lows.x, other.x));
    return packed(wide(x.sign ^ y.sign, x.power + y.power + 64, bits));
}

// The state of a long division or root: the remainder, the remaining bits of a root's operand, and the result so far.
struct Digits {
    rest: vec2<u32>,
    remaining: vec2<u32>,
    bits: vec2<u32>,
}

// Appends a bit at the low end.
fn with_bit(bits: vec2<u32>, is_set: bool) -> vec2<u32> {
    let doubled = add64(bits, bits);
    return vec2<u32>(doubled.x | select(0u, 1u, is_set), doubled.y);
}

fn divide_once(digits: Digits, divisor: vec2<u32>) -> Digits {
    let fits = !less64(digits.rest, divisor);
    let rest = select(digits.rest, sub64(digits.rest, divisor), fits);
    return Digits(add64(rest, rest), digits.remaining, with_bit(digits.bits, fits));
}

fn divide_4(digits: Digits, divisor: vec2<u32>) -> Digits {
    let two = divide_once(divide_once(digits, divisor), divisor);
    return divide_once(divide_once(two, divisor), divisor);
}

// Returns a / b, where b is not zero: 16 bits per turn, since Mesa's software drivers end loops with many turns.
fn quotient(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let x = unpacked(a);
    let y = unpacked(b);
    let divisor = shr64(y.bits, 1u);
    let none = vec2<u32>(0u);
    var digits = Digits(shr64(x.bits, 1u), none, none);
    for (var turn = 0u; turn < 4u; turn += 1u) {
        let eight = divide_4(divide_4(digits, divisor), divisor);
        digits = divide_4(divide_4(eight, divisor), divisor);
    }
    return packed(wide(x.sign ^ y.sign, x.power - y.power - 63, with_lost(digits.bits, digits.rest)));
}

fn root_once(digits: Digits) -> Digits {
    var rest = shl64(digits.rest, 2u);
    rest.x |= digits.remaining.y >> 30u;
    let next = shl64(digits.bits, 2u) + vec2<u32>(1u, 0u);
    let fits = !less64(rest, next);
    return Digits(select(rest, sub64(rest, next), fits), shl64(digits.remaining, 2u), with_bit(digits.bits, fits));
}

fn root_7(digits: Digits) -> Digits {
    let three = root_once(root_once(root_once(digits)));
    return root_once(root_once(root_once(root_once(three))));
}

// Returns the square root of a nonnegative number: 14 bits per turn.
fn root(a: vec2<u32>) -> vec2<u32> {
    let x = unpacked(a);
    if is_zero64(x.bits) {
        return a;
    }
    // Make the power even.
    let is_odd = (x.power & 1) != 0;
    let power = x.power + select(0, 1, is_odd);
    var digits = Digits(vec2<u32>(0u), select(x.bits, shr64(x.bits, 1u), is_odd), vec2<u32>(0u));
    for (var turn = 0u; turn < 4u; turn += 1u) {
        digits = root_7(root_7(digits));
    }
    return packed(wide(0u, power / 2 - 24, with_lost(digits.bits, digits.rest)));
}
