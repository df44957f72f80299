//! Mutants that no search tells from their kernel, and why.

/// Why a mutant is not caught.
pub enum Reason {
    /// No input can tell it from its kernel.
    Equal(&'static str),
    /// The tests of stages tell it from its kernel, with numbers that no search of a few boxes has.
    Stages(&'static str),
}

use Reason::{Equal, Stages};

/// 64-bit arithmetic that is compared with the host's.
const CARRIES: Reason = Stages(
    "exact::counts_of_64_bits_carry_at_every_edge compares this function with the host's; here it takes larger numbers than a search of few boxes has",
);
/// Of a difference of 64 bits, only the lower half is used.
const LOWER_HALF: Reason = Equal("the kernel takes the lower half of the difference, and this changes the upper one");

/// The kernel (or any), what is changed, a part of the line, and why it is not caught.
const NOT_CAUGHT: &[(&str, &str, &str, Reason)] = &[
    ("rank_ends", "1 becomes 2", "var step = 1u;", Equal("a first step of any length finds the same end")),
    ("emit_sweep", "", "return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));", LOWER_HALF),
    (
        "giants_test",
        "0 becomes 1",
        "return 0u;\n}",
        Equal("the number of a world where there are none, which this kernel asks for only where there are some"),
    ),
    (
        "",
        ">= becomes >",
        "let sign = select(0u, 0xffffffffu, sum.high >= 0x80000000u);",
        Equal("a sum of terms stays within 2^52, so that its upper half is never 2^31"),
    ),
    ("", "0 becomes 1", "let run_end = select(0u, ", Equal("the loop up to it begins beyond 1 where this is taken")),
    (
        "",
        "0 becomes 1",
        "let scan = scan_workgroup2(local, vec2<u32>(value, 0u));",
        Equal("the second of two sums is not used"),
    ),
    ("", "", "return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));", CARRIES),
    ("", "", "return a.y < b.y || (a.y == b.y && a.x < b.x);", CARRIES),
    ("", "", "let low = (a & 0xffffu) * (b & 0xffffu);", CARRIES),
    ("", "", "let middle_a = (a >> 16u) * (b & 0xffffu);", CARRIES),
    ("", "", "let middle_b = (a & 0xffffu) * (b >> 16u);", CARRIES),
];

/// Returns why a mutant that survived did, if that is known.
pub fn reason(kernel: &str, text: &str) -> Option<&'static Reason> {
    // What is changed, the line before, the line itself, and the one behind.
    let (what, lines) = text.split_once(":\n")?;
    let own = lines.lines().skip(1).collect::<Vec<_>>().join("\n");
    let is = |entry: &&(&str, &str, &str, Reason)| {
        let (of, changed, line) = (entry.0, entry.1, entry.2);
        (of.is_empty() || of == kernel) && what.starts_with(changed) && own.trim_start().starts_with(line)
    };
    NOT_CAUGHT.iter().find(is).map(|(.., reason)| reason)
}
