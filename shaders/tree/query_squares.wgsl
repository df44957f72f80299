// query_squares: computes the squared distances of each point from the boxes of its row (ranked.wgsl).

@compute @workgroup_size(256)
fn query_squares(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    write_answer(group_index(group, groups) * 256u + local);
}

// The number to round down: the squared distance to `ends`.
struct Measure {
    ends: vec3<u32>,
}

fn is_at_most(number: u32, what: Measure) -> bool {
    begin_sum();
    add_square(what.ends, 0u);
    add_product(number ^ SIGN, ONE, 0u);
    return sign_of_sum() >= 0;
}

// Returns the square of the distance to a box, rounded down, in bits.
fn answer_of(own: BoxBits, rank: u32) -> u32 {
    let ends = ends_of(own.low, own.high);
    if all(ends == point) {
        return 0u;
    }
    let square = square_in_words(ends, false);
    // If both bounds round to the same number, it is the result.
    if square != 0u && square == square_in_words(ends, true) {
        return square;
    }
    var guess = bitcast<f32>(square);
    if is_usual && class_of(own.low, own.high) == 0u {
        let along = bitcast<vec3<f32>>(ends) - sight_point;
        guess = along.x * along.x + along.y * along.y + along.z * along.z;
    }
    return round_down(guess, Measure(ends));
}

// A difference of two numbers is exact if their exponents differ by at most this many bits.
const SPARE_BITS: u32 = 7u;

// Returns a lower bound of the squared distance to `ends`, or an upper bound with `is_most`, in 64-bit arithmetic. The
// bound is rounded down to f32, in bits; 0 if this is not a normal number.
fn square_in_words(ends: vec3<u32>, is_most: bool) -> u32 {
    let a = ends & vec3<u32>(~SIGN);
    let b = point & vec3<u32>(~SIGN);
    // The distance along each axis, in units of 2^(power - 150 - SPARE_BITS).
    let power = max(power_part(a), power_part(b));
    let down_a = power - power_part(a);
    let down_b = power - power_part(b);
    let n = shifted(whole_part(a), down_a);
    let m = shifted(whole_part(b), down_b);
    let apart = select(max(n, m) - min(n, m), n + m, (ends ^ point) >= vec3<u32>(SIGN));
    let loss = select(vec3<u32>(0u), vec3<u32>(1u), max(down_a, down_b) > vec3<u32>(SPARE_BITS));
    let there = ends != point;
    let along = select(vec3<u32>(0u), select(apart - loss, apart + loss, is_most), there);

    // The squares, in units of four times the square of the largest unit. Each square loses at most one unit.
    let largest = select(vec3<u32>(0u), power, there);
    let top = max(max(largest.x, largest.y), largest.z);
    let rest = select(0u, 1u, is_most);
    var sum = vec2<u32>(0u);
    for (var k = 0u; k < 3u; k += 1u) {
        let square = shifted_down(square64(along[k]), 2u + 2u * (top - min(top, power[k])));
        sum = add64(add64(sum, square), vec2<u32>(select(0u, rest, there[k]), 0u));
    }

    // The leading 24 bits.
    let zeros = select(countLeadingZeros(sum.y), 32u + countLeadingZeros(sum.x), sum.y == 0u);
    let shift = zeros & 31u;
    let low = select(sum.x, 0u, zeros >= 32u);
    let high = select(sum.y, sum.x, zeros >= 32u);
    let leading = ((high << shift) | ((low >> 1u) >> (31u - shift))) >> 8u;
    // The unit is 2^(2 (top - 150 - SPARE_BITS) + 2); the leading bit is 63 - zeros above it.
    let exponent = 2 * i32(top) - 2 * i32(150u + SPARE_BITS) + 2 + 63 - i32(zeros) + 127;
    let is_normal = zeros < 64u && exponent >= 1 && exponent <= 254;
    return select(0u, (u32(exponent) << 23u) | (leading & 0x7fffffu), is_normal);
}

// Shifts whole parts to a common unit; small ones lose their last bits.
fn shifted(whole: vec3<u32>, down: vec3<u32>) -> vec3<u32> {
    let spare = vec3<u32>(SPARE_BITS);
    let up = whole << (spare - min(down, spare));
    return select(up, whole >> min(down - min(down, spare), vec3<u32>(31u)), down > spare);
}

// Returns a square as (low, high), multiplied in halves of 16 bits.
fn square64(x: u32) -> vec2<u32> {
    let low = x & 0xffffu;
    let high = x >> 16u;
    let middle = low * high;
    let first = middle + ((low * low) >> 16u);
    let second = (first & 0xffffu) + middle;
    return vec2<u32>(x * x, high * high + (first >> 16u) + (second >> 16u));
}

fn shifted_down(x: vec2<u32>, shift: u32) -> vec2<u32> {
    let bits = shift & 31u;
    let low = (x.x >> bits) | ((x.y << 1u) << (31u - bits));
    let high = x.y >> bits;
    let once = select(vec2<u32>(low, high), vec2<u32>(high, 0u), shift >= 32u);
    return select(once, vec2<u32>(0u), shift >= 64u);
}
