//! Mutants that no search distinguishes from their kernel, and the reasons.

/// The reason why a mutant is not caught.
#[derive(Clone, Copy)]
pub enum Reason {
    /// No input distinguishes it from its kernel.
    Equal(&'static str),
    /// The tests of stages distinguish it from its kernel, with numbers that no search of few boxes has.
    Stages(&'static str),
}

use Reason::{Equal, Stages};

use crate::needless::{IN_DOUBLES, IN_SUMS, is_of, own_lines};

/// Arithmetic of 64 bits, and sizes of dispatches: `arithmetic.rs` of the tests of kernels runs each change of these
/// functions on the same numbers.
const CARRIES: Reason = Stages(
    "exact::counts_of_64_bits_carry_at_every_edge compares this function with the host's, and every change of it shows there",
);
/// Arithmetic with its own tests on many more numbers, and the reason why its changes are caught: `arithmetic.rs` of
/// the tests of kernels runs each change of these files on the same numbers.
const COMPARED: [(&str, Reason); 5] = [
    (include_str!("../../../../shaders/tree/double.wgsl"), DOUBLES),
    (include_str!("../../../../shaders/tree/long_sum.wgsl"), SUMS),
    (include_str!("../../../../shaders/shared/long_add.wgsl"), SUMS),
    (include_str!("../../../../shaders/shared/exact_sum.wgsl"), SUMS),
    (include_str!("../../../../shaders/shared/float_parts.wgsl"), SUMS),
];
const DOUBLES: Reason = Stages(
    "derived::numbers_of_64_bits_are_rounded_as_cpus_round_them compares this function, and every change of it shows there",
);
const SUMS: Reason = Stages(
    "sums_of_products::sums_of_products_are_those_of_integers_of_any_length compares it, and every change of it shows there",
);
/// Only the lower half of a 64-bit difference is used.
const LOWER_HALF: Reason = Equal("the kernel takes the lower half of the difference, and this changes the upper one");
/// Any other invocation could do the same.
const ANY_ONE: Reason = Equal("one invocation does it, whichever: all of them have the same values");
const KEEPS_NOTHING: Reason = Equal("an invocation that keeps nothing adds up some more");
const NO_WORLDS: Reason =
    Equal("the number of a world where there are none, which this kernel reads only if there are some");
const LAST_COUNT: Reason =
    Equal("what is counted too much lies behind the last key, and places begin behind what others counted before");
const FIRST_OF_FOUR: Reason = Equal("the loop goes on only where there is a first of four");
const DEALS: Reason = Equal("the entries are the same, whichever invocation writes them");
const KIND_OF_INVALID: Reason = Equal(
    "the kernel tests only whether the box is invalid, or also whether its bounds are within a limit that is finite",
);
const UNUSED: Reason = Equal("nobody reads this member of the structure in this kernel");
const FRACTIONS: Reason = Equal("the kernel takes the cells of the place, and this changes the fractions");
const MINUS_ZERO: Reason =
    Equal("only -0 is taken for another number, and its magnitude, zero, adds as much with either sign");

/// The start, the end and the cuts of a bisection.
const ANY_RANGE: Reason = Equal("the search finds the same place in any range that holds it, wherever it is cut");
const GUESS: Reason = Equal("this kernel only guesses with it, and a number is rounded to the same from any guess");
const UNREAD: Reason = Equal("this kernel decides everything exactly, and reads no f32 result");

/// The kernel (or any), the change, a part of the line, and the reason why it is not caught.
const NOT_CAUGHT: &[(&str, &str, &str, Reason)] = &[
    ("events_find", "2 becomes 3", "let middle = first + (end - first) / 2u;", ANY_RANGE),
    ("events_find", "2 becomes 3", "let middle = first + min(most - 1u, (end - first) / 2u);", ANY_RANGE),
    ("events_find", "store left out", "most *= 2u;", ANY_RANGE),
    ("events_find", "", "var most = select(1u, 0u, low == ends.x);", ANY_RANGE),
    ("events_find", "store left out", "var first = low;", ANY_RANGE),
    ("order_sort", "2 becomes 3", "let middle = first + min(most - 1u, (end - first) / 2u);", ANY_RANGE),
    ("order_sort", "store left out", "most *= 2u;", ANY_RANGE),
    ("bin_scatter", "", "if max(max(entries_in(count_a), entries_in(count_b)), ", DEALS),
    ("bin_scatter", "", "atomicStore(&has_many, ", DEALS),
    ("bin_scatter", "", "let deals = ", DEALS),
    ("emit_sweep", "", "return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));", LOWER_HALF),
    ("bin_worlds", "0 becomes 1", "return of_box(filter_layout.world, i, 0u);", NO_WORLDS),
    (
        "bin_count",
        "0 becomes 1",
        "return of_box(filter_layout.world, i, 0u);",
        Equal("the number of a world where there are none, of which keys have no bits then"),
    ),
    (
        "bin_scatter",
        "0 becomes 1",
        "for (var level = 0u; level < LEVELS; level += 1u) {\n        let own",
        Equal("the first level is taken where it costs least, whatever the others cost"),
    ),
    (
        "",
        ">= becomes >",
        "let sign = select(0u, 0xffffffffu, sum.high >= 0x80000000u);",
        Equal("a sum of terms stays within 2^52, so that its upper half is never 2^31"),
    ),
    ("", "< becomes <=", "let run_end = select(0u, ", KEEPS_NOTHING),
    ("", "8 becomes 9", "let run_end = select(0u, ", KEEPS_NOTHING),
    ("", "16 becomes 17", "let run_end = select(0u, 256u", KEEPS_NOTHING),
    ("", "0 becomes 1", "let run_end = select(0u, ", Equal("the loop up to it begins beyond 1 where this is taken")),
    ("", "0 becomes 1", "let runs_end = select(0u, ", Equal("the loop up to it begins beyond 1 where this is taken")),
    ("", "0 becomes 1", "for (var k = 0u; k < select(0u, local, local < 17u); k += 1u) {", KEEPS_NOTHING),
    ("", "17 becomes 18", "for (var k = 0u; k < select(0u, local, local < 17u); k += 1u) {", KEEPS_NOTHING),
    ("", "< becomes <=", "for (var k = 0u; k < select(0u, local, local < 17u); k += 1u) {", KEEPS_NOTHING),
    (
        "",
        "0 becomes 1",
        "let scan = scan_workgroup2(local, vec2<u32>(value, 0u));",
        Equal("the second of two sums is not used"),
    ),
    ("tree_cube", "0 becomes 1", "if local == 0u {\n        var low", ANY_ONE),
    (
        "frame_choose",
        ">= becomes >",
        "let turns_forward = theta >= 0.0 || ",
        Equal("where theta is zero the difference is zero too, and so within the tie"),
    ),
    ("", "1 becomes 2", "var y = 1u;", Equal("a dispatch of no workgroups has none in any number of rows")),
    (
        "query_times",
        "> becomes >=",
        "if is_crossing(own) && is_above(own.plane, own.origin) && ",
        Equal("of crossings at the same time either tells it"),
    ),
    (
        "rank_ends",
        "store left out",
        "var quad = next / 4u;",
        Equal("keys before the own one are not above it, so that the search only begins further away"),
    ),
    ("pca_bounds", "0 becomes 1", "if local == 0u {", ANY_ONE),
    ("frame_choose", "0 becomes 1", "if local == 0u {\n        atomicStore", ANY_ONE),
    ("bin_count", "0 becomes 1", "if local == 0u {", ANY_ONE),
    ("bin_scatter", "0 becomes 1", "if local == 0u {", ANY_ONE),
    ("small_emit", "0 becomes 1", "if local == 0u {", ANY_ONE),
    ("sort_scatter", "< becomes <=", "count(local, digits.", LAST_COUNT),
    ("sort_scatter", "< becomes <=", "put(local, digits.x", FIRST_OF_FOUR),
    (
        "bin_scatter",
        "< becomes <=",
        "for (var level = 0u; level < LEVELS - 1u; level += 1u) {",
        Equal("the last level is taken where no other one is, whether it was tested or not"),
    ),
    ("pca_bounds", "< becomes <=", "if local < 128u {", Equal("a workgroup of this kernel has 128 invocations")),
    (
        "",
        "0 becomes 1",
        "var low = 0u;\n    var end = 0u;",
        Equal("a box without a row has none listed, wherever a row of no length begins"),
    ),
    (
        "bin_count",
        "1 becomes 2",
        "let start = own.start & ((1u << frame.position_bits) - 1u);",
        Equal("cells have a bit along u at least, so that the bit above the position tells no worlds apart"),
    ),
    (
        "bin_count",
        "1 becomes 2",
        "let low = world & ((1u << bits.x) - 1u);",
        Equal("keys of all boxes of a world are changed by the same bits, whichever"),
    ),
    (
        "rank_ends",
        "+ becomes -",
        "let last_quad = min(quad + REACH_QUADS, n / 4u);",
        Equal("the search that doubles its step finds the same, wherever it begins"),
    ),
    ("", "2 becomes 3", "step = min(2u * step, 0x10000000u);", ANY_RANGE),
    (
        "rank_ends",
        "0 becomes 1",
        "let last_proven = cell | select(0u, ",
        Equal("where no candidate is proven, the count of the others is unused"),
    ),
    ("pca_bounds", "0 becomes 1", "let own = Bounds(bitcast<vec3<f32>>(bits.min), 1u, ", UNUSED),
    ("pca_bounds", "0 becomes 1", "return Bounds(vec3<f32>(FLOAT_MAX), 0u, vec3<f32>(-FLOAT_MAX), 0u);", UNUSED),
    ("frame_choose", "0 becomes 1", "return Bounds(vec3<f32>(FLOAT_MAX), 0u, vec3<f32>(-FLOAT_MAX), 0u);", UNUSED),
    ("bin_worlds", "127 becomes 128", "const FRACTION_LAST: u32 = ", FRACTIONS),
    ("frame_choose", "0 becomes 1", "return Bounds(bitcast<vec3<f32>>(low.xyz), low.w, highs[k], 0u);", UNUSED),
    (
        "frame_choose",
        "0 becomes 1",
        "return Bounds(min(a.min, b.min), a.count + b.count, max(a.max, b.max), 0u);",
        UNUSED,
    ),
    ("bin_worlds", "", "let within = vec4<u32>(min(", FRACTIONS),
    ("bin_worlds", "", "let fraction = select(", FRACTIONS),
    ("small_test", "", "return select(KIND_FINITE, KIND_UNBOUNDED, ", KIND_OF_INVALID),
    ("small_emit", "", "return select(KIND_FINITE, KIND_UNBOUNDED, ", KIND_OF_INVALID),
    ("tree_bottom", "", "return select(KIND_FINITE, KIND_UNBOUNDED, ", KIND_OF_INVALID),
    ("tree_top", "", "return select(KIND_FINITE, KIND_UNBOUNDED, ", KIND_OF_INVALID),
    ("bin_count", "store left out", "return select(KIND_FINITE, KIND_UNBOUNDED, ", KIND_OF_INVALID),
    ("bin_worlds", "store left out", "return select(KIND_FINITE, KIND_UNBOUNDED, ", KIND_OF_INVALID),
    ("frame_choose", "store left out", "return select(KIND_FINITE, KIND_UNBOUNDED, ", KIND_OF_INVALID),
    ("prepare_boxes", ">= becomes >", "let is_negative = bound >= vec3<u32>(SIGN);", MINUS_ZERO),
    ("prepare_boxes", "2147483648 becomes 2147483649", "const SIGN: u32 = 0x80000000u;", MINUS_ZERO),
    (
        "prepare_boxes",
        "> becomes >=",
        "let is_larger = magnitude > margin;",
        Equal("the two are alike then, and a difference of zero has no sign"),
    ),
    ("query_hits", "", "var guess = ", GUESS),
    ("query_hits", "", "if is_usual && class_of(own.low, own.high) == 0u {", GUESS),
    ("query_hits", "", "guess = ", GUESS),
    ("query_hits", "", "let sign = vec3<u32>(0x80000000u);\n    let is_usual", GUESS),
    ("query_times", "", "let sign = vec3<u32>(0x80000000u);\n    let is_usual", GUESS),
    ("query_squares", "", "let sign = vec3<u32>(0x80000000u);\n    let is_usual", GUESS),
    ("query_hits", "", "return kind + 1u;", GUESS),
    ("query_hits", "", "let is_usual = all(max(min_bits", GUESS),
    ("query_hits", "", "return select(1u, 0u, is_usual);", GUESS),
    ("query_times", "", "var guess = ", GUESS),
    ("query_times", "", "if is_usual && class_of(own.low, own.high) == 0u {", GUESS),
    ("query_times", "", "guess = ", GUESS),
    ("query_times", "", "return kind + 1u;", GUESS),
    ("query_times", "", "let is_usual = all(max(min_bits", GUESS),
    ("query_times", "", "return select(1u, 0u, is_usual);", GUESS),
    ("query_squares", "", "var guess = bitcast", GUESS),
    ("query_squares", "", "if is_usual && class_of(own.low, own.high) == 0u {", GUESS),
    ("query_squares", "", "guess = ", GUESS),
    ("query_squares", "", "return kind + 1u;", GUESS),
    ("query_squares", "", "let is_usual = all(max(min_bits", GUESS),
    ("query_squares", "", "return select(1u, 0u, is_usual);", GUESS),
    ("query_hits", "", "let inverse = ", UNREAD),
    ("query_hits", "", "sight_inverse = ", UNREAD),
    ("query_hits", "", "still_axes = ", UNREAD),
    ("query_hits", "", "let largest = ", UNREAD),
    ("query_hits", "", "flushed = ", UNREAD),
    ("query_hits", "", "sight_limit = ", UNREAD),
    ("query_hits", "", "if path_limit < bitcast<u32>(NEVER) {", UNREAD),
    ("query_hits", "", "let is_speed = ", GUESS),
    ("query_hits", "", "is_usual = class_of(", GUESS),
    ("query_times", "", "let inverse = ", UNREAD),
    ("query_times", "", "sight_inverse = ", UNREAD),
    ("query_times", "", "still_axes = ", UNREAD),
    ("query_times", "", "let largest = ", UNREAD),
    ("query_times", "", "flushed = ", UNREAD),
    ("query_times", "", "sight_limit = ", UNREAD),
    ("query_times", "", "if path_limit < bitcast<u32>(NEVER) {", UNREAD),
    ("query_times", "", "let is_speed = ", GUESS),
    ("query_times", "", "is_usual = class_of(", GUESS),
    ("query_squares", "", "sight_limit = ", UNREAD),
    ("query_squares", "", "if radius <= USUAL_BITS", UNREAD),
    (
        "query_squares",
        "0 becomes 1",
        "let along = select(vec3<u32>(0u), select(apart - loss",
        Equal("the square of one, in units of four, is nothing"),
    ),
    ("query_squares", "", "return max(reach.x, max(reach.y, reach.z));", GUESS),
    (
        "",
        ">= becomes >",
        "let is_negative = (normal_bits ^ corner_bits) >= sign;",
        Equal("it matters for infinite corners alone, whose bits but the sign are those of no finite normal"),
    ),
    ("", "", "let low = a.x + b.x;", CARRIES),
    ("", "", "return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));", CARRIES),
    ("", "", "return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));", CARRIES),
    ("", "", "return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));", CARRIES),
    ("", "", "let low = (a & 0xffffu) * (b & 0xffffu);", CARRIES),
    ("", "", "let middle_a = (a >> 16u) * (b & 0xffffu);", CARRIES),
    ("", "", "let middle_b = (a & 0xffffu) * (b >> 16u);", CARRIES),
    ("", "", "let high = (a >> 16u) * (b >> 16u);", CARRIES),
    ("", "", "var result = add64(vec2<u32>(low, high), ", CARRIES),
    ("", "", "result = add64(result, vec2<u32>(middle_b << 16u, middle_b >> 16u));", CARRIES),
    ("", "", "return vec2<u32>((a.x >> bits) | (a.y << (32u - bits)), a.y >> bits);", CARRIES),
    ("", "", "return a / b + select(0u, 1u, a % b != 0u);", CARRIES),
    ("", "", "let x = min(groups, MAX_GROUPS_X);", CARRIES),
    ("", "", "if x > 0u {", CARRIES),
    ("", "", "y = (groups - 1u) / x + 1u;", CARRIES),
];

/// Returns the reason why a mutant survived, if it is known.
pub fn reason(kernel: &str, text: &str) -> Option<Reason> {
    // The change, the line before, the changed line, and the next line.
    let (what, lines) = text.split_once(":\n")?;
    let own = lines.lines().skip(1).collect::<Vec<_>>().join("\n");
    let is = |entry: &&(&str, &str, &str, Reason)| {
        let (of, changed, line) = (entry.0, entry.1, entry.2);
        (of.is_empty() || of == kernel) && what.starts_with(changed) && own.trim_start().starts_with(line)
    };
    if let Some((.., reason)) = NOT_CAUGHT.iter().find(is) {
        return Some(*reason);
    }
    if let Some((.., why)) = IN_SUMS.iter().chain(IN_DOUBLES).find(|entry| is_of(text, entry)) {
        return Some(Equal(why));
    }
    // A changed constant changes all its uses, not only this one.
    if own_lines(text).starts_with("const ") {
        return None;
    }
    // The three lines, as they stand in a file.
    let place = trimmed(lines);
    COMPARED.iter().find(|(file, _)| trimmed(file).contains(&place)).map(|(_, reason)| *reason)
}

fn trimmed(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Returns an entry whose line is in no kernel, or not in its own.
pub fn stale(kernels: &[(&str, String)]) -> Option<String> {
    let kernels: Vec<_> = kernels.iter().map(|(label, text)| (*label, trimmed(text))).collect();
    let stands = |entry: &&(&str, &str, &str, Reason)| {
        let line = format!("\n{}", trimmed(entry.2));
        kernels.iter().any(|(label, text)| (entry.0.is_empty() || entry.0 == *label) && text.contains(&line))
    };
    let (of, _, line, _) = NOT_CAUGHT.iter().find(|entry| !stands(entry))?;
    Some(format!("`{line}` is no line of {}", if of.is_empty() { "any kernel" } else { of }))
}
