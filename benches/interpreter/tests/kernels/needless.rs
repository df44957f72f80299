//! Changes of arithmetic that no numbers show, with the reason: the change, a part of the line (and of the next one),
//! and the reason.

/// Returns the changed line and the next one. The text has the change, the previous line, the line itself, and the next
/// one.
pub fn own_lines(text: &str) -> String {
    text.lines().skip(2).map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Returns whether a change is that of an entry.
pub fn is_of(text: &str, (change, line, _): &(&str, &str, &str)) -> bool {
    let own = own_lines(text);
    let end = own.find('\n').unwrap_or(own.len());
    text.starts_with(change) && own.find(line).is_some_and(|at| at < end)
}

/// Changes of the arithmetic of doubles that change no result.
pub const IN_DOUBLES: &[(&str, &str, &str)] = &[
    ("63 becomes 64:", "shl64(with_half, min(count - 1u, 63u))", "nothing is left of bits that were shifted by 64"),
    ("1 becomes 2:", "bits.x | select(1u, 0u, is_zero64(lost))", "both bits lie below the half of what is kept"),
    ("62 becomes 63:", "min(u32(large.power - small.power), 62u)", "what is shifted by 63 or 64 is less than a half"),
    (
        "0 becomes 1:",
        "let none = vec2<u32>(0u);",
        "64 steps shift out what the bits of a quotient begin with, and nothing remains of its operand",
    ),
];

/// The same of sums of products.
pub const IN_SUMS: &[(&str, &str, &str)] = &[
    ("0 becomes 1:", "let bits = vec3<u32>(a_bits, b_bits, 0u)", THIRD),
    ("0 becomes 1:", "let bits = vec3<u32>(a, b, 0u)", THIRD),
    ("2147483648 becomes 2147483649:", "sum_words[4].w >= 0x80000000u", SMALLER),
    (">= becomes >:", "sum_words[4].w >= 0x80000000u", SMALLER),
    ("2147483648 becomes 2147483649:", "-1, sum.high >= 0x80000000u", SMALLER),
    (">= becomes >:", "-1, sum.high >= 0x80000000u", SMALLER),
    ("2147483648 becomes 2147483649:", "let sign = select(0u, 0xffffffffu, sum.high >= 0x80000000u)", SMALLER),
    (">= becomes >:", "let sign = select(0u, 0xffffffffu, sum.high >= 0x80000000u)", SMALLER),
    (">= becomes >:", "let is_sorted = first.power >= second.power;", "terms of one power come in either order"),
    ("32 becomes 33:", "let low_bits = 32u - countLeadingZeros", ANY_BOUND),
    ("32 becomes 33:", "let bits = select(32u + high_bits", ANY_BOUND),
    ("55 becomes 56:", "let is_final = bits + up > 55u", ANY_BOUND),
    ("> becomes >=:", "let is_final = bits + up > 55u", ANY_BOUND),
    ("0 becomes 1:", "add_product(a.x, b.w, 0u);", FORGOTTEN),
    ("call left out:", "add_product(a.x, b.w, 0u);", FORGOTTEN),
];

const THIRD: &str = "the third of three numbers is not taken";
const SMALLER: &str = "no sum is as large as the leading bit alone";
const ANY_BOUND: &str = "the terms left are less than 2^51 together, and a sum of 2^54 or 2^56 holds them too";
const FORGOTTEN: &str = "the sum begins after it";
