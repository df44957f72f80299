//! Inputs of the arithmetic of `double.wgsl`: a kernel, and hard operands.

use broadsweep::internals::gpu::kernel::Source;

/// Computes all that `double.wgsl` does of each pair of operands; their number is one of whole workgroups.
pub const KERNEL: Source = Source {
    label: "double_arithmetic",
    own: "
struct Results {
    sum: vec2<u32>,
    product: vec2<u32>,
    quotient: vec2<u32>,
    root: vec2<u32>,
    near: u32,
    up: u32,
    up_sum: u32,
    less: u32,
}

@group(0) @binding(0) var<storage, read> operands: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> results: array<Results>;

@compute @workgroup_size(64)
fn double_arithmetic(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group.x * 64u + local;
    let a = operands[i].xy;
    let b = operands[i].zw;
    results[i] = Results(
        sum(a, b),
        product(a, b),
        quotient(a, b),
        root(magnitude(a)),
        narrowed(unpacked(a), TO_NEAREST),
        narrowed_up(unpacked(a)),
        narrowed_up(exact_sum(widened(a.x), widened(b.x))),
        select(0u, 1u, is_less(a, b)),
    );
}",
    shared: &[include_str!("../../shaders/tree/double.wgsl"), include_str!("../../shaders/shared/common.wgsl")],
};

/// Creates so many pairs of finite numbers; a multiple of 64.
pub fn operands(count: usize) -> Vec<[f64; 2]> {
    assert!(count.is_multiple_of(64));
    let mut state = 1u64;
    // A linear congruential generator (Knuth, MMIX), of which the upper bits are good.
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state >> 16 ^ state << 32
    };
    (0..count)
        .map(|_| {
            let a = double(&mut next, 3.0);
            [a, double(&mut next, a)]
        })
        .collect()
}

/// Returns a finite number: any, one of a few bits, one near an edge, or one near `other`.
fn double(next: &mut impl FnMut() -> u64, other: f64) -> f64 {
    let edges = [0, 1, 1 << 51, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, 0x7fef << 48, (0x7ff << 52) - 1, 0x3ff << 52];
    let bits = next();
    let bits = match next() % 6 {
        0 => edges[(next() % 9) as usize] | bits & 1 << 63,
        // Few bits, so that halves are met; around 1, around the smallest f32, around the largest.
        1 => ((0x3ff0 + next() % 64) << 48) | bits & 0x8000_0000_f000_0000,
        2 => ((870 + next() % 40) << 52) | bits & 0x800f_ffff_e000_0000,
        3 => ((1149 + next() % 4) << 52) | bits & 0x800f_ffff_f000_0000,
        4 => other.to_bits() ^ (1 << 63) ^ (1 << (next() % 56)),
        _ => bits,
    };
    let number = f64::from_bits(bits);
    if number.is_finite() { number } else { 1.5 }
}
