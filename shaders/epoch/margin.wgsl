// How far boxes are grown, as exponents of f32. The usual edge of a scene is taken for 1.5 * 2^(edge - 127), and a margin of
// exponent m is 1.5 * 2^(m - 127).

// Returns a margin in bits of f32.
fn margin_bits(exponent: u32) -> u32 {
    return (exponent << 23u) | 0x400000u;
}

// Returns the margin of a box that escaped, a quarter of the usual edge: it is likely to go on, and one of few.
fn escape_margin(edge: u32) -> u32 {
    return max(edge, 3u) - 2u;
}

// Returns the margin of all boxes as an epoch begins, for about eight steps of the usual speed: from a sixteenth to an eighth
// of the usual edge.
fn first_margin(edge: u32, speed: u32) -> u32 {
    let usual = max(edge, 5u);
    return clamp(speed + 3u, usual - 4u, usual - 3u);
}
