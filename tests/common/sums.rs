//! Inputs of the sums of products of `exact_sum.wgsl` and `long_sum.wgsl`: a kernel, and hard operands.

use broadsweep::internals::gpu::kernel::Source;

/// Adds four products of operands `2 i` and `2 i + 1`, as a short sum and as a long sum. The long sum adds every other
/// product twice.
pub const KERNEL: Source = Source {
    label: "sums_of_products",
    own: "
struct Results {
    words: array<u32, 10>,
    long_sign: i32,
    short_sign: i32,
}

@group(0) @binding(0) var<storage, read> operands: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> results: array<Results>;

@compute @workgroup_size(64)
fn sums_of_products(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group.x * 64u + local;
    let a = operands[i];
    let b = operands[i ^ 1u];
    // Of which nothing stays.
    add_product(a.x, b.w, 0u);
    begin_sum();
    add_product(a.x, b.x, 0u);
    add_product(a.y, b.y, 1u);
    add_product(a.z, b.z, 0u);
    add_product(a.w, b.w, 1u);
    for (var k = 0u; k < 10u; k += 1u) {
        let word = k + 10u * (i & 1u);
        results[i].words[k] = sum_words[word / 4u][word % 4u];
    }
    results[i].long_sign = sign_of_sum();
    results[i].short_sign = sign_of(sum_of_products(a, b));
}",
    shared: &[
        include_str!("../../shaders/tree/long_sum.wgsl"),
        include_str!("../../shaders/shared/long_add.wgsl"),
        include_str!("../../shaders/shared/exact_sum.wgsl"),
        include_str!("../../shaders/shared/float_parts.wgsl"),
        include_str!("../../shaders/shared/common.wgsl"),
    ],
};

/// The sum of the first two products nearly cancels the third. Its lowest bit is 2³² times that of the third product,
/// and only the lowest bits decide the sign.
const NARROW: [[u32; 4]; 2] = [[0x6400_0001, 0xe400_0000, 0xad00_0001, 0], [0x4001, 0x4001, 0x2780_01ff, 0]];

/// Creates so many sums, each of two vectors of finite f32 in bits; a multiple of 32.
pub fn operands(count: usize) -> Vec<[[u32; 4]; 2]> {
    assert!(count.is_multiple_of(32));
    let mut state = 1u64;
    // A linear congruential generator (Knuth, MMIX), of which the upper bits are good.
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) as u32
    };
    std::iter::once(NARROW)
        .chain((1..count).map(|i| {
            let mut a = [0; 4].map(|_| number(&mut next));
            let mut b = [0; 4].map(|_| number(&mut next));
            let (k, other) = ((next() % 4) as usize, (next() % 4) as usize);
            match i % 5 {
                // One product takes away another, or nearly so; what is left decides.
                0 => (a[other], b[other]) = (b[k] ^ 0x8000_0000, a[k]),
                1 => (a[other], b[other]) = ((a[k] ^ 0x8000_0000).saturating_sub(next() % 2), b[k]),
                // Two of them do.
                2 => {
                    (a[k ^ 1], b[k ^ 1]) = (a[k] ^ 0x8000_0000, b[k]);
                    (a[k ^ 2], b[k ^ 2]) = (a[k ^ 3], b[k ^ 3] ^ 0x8000_0000);
                }
                // Few bits are left, and another product is about as large, or some powers smaller.
                3 => {
                    let exponent = |number: u32, power: u32| number & 0x807f_ffff | power << 23;
                    (a[k], b[k]) = (exponent(a[k], 130), exponent(b[k], 127) & (u32::MAX << (next() % 24)));
                    (a[k ^ 1], b[k ^ 1]) = ((a[k] ^ 0x8000_0000) + 1, b[k]);
                    (a[k ^ 2], b[k ^ 2]) = (exponent(a[k ^ 2], 85 + next() % 24), exponent(b[k ^ 2], 127));
                    (a[k ^ 3], b[k ^ 3]) = (exponent(a[k ^ 3], 50 + next() % 50), b[k ^ 2]);
                }
                _ => {}
            }
            let finite = |bits: u32| if bits & 0x7f80_0000 == 0x7f80_0000 { bits ^ 0x0080_0000 } else { bits };
            [a.map(finite), b.map(finite)]
        }))
        .collect()
}

/// Returns a finite number: any, one of few bits, one around 1, one at an edge.
fn number(next: &mut impl FnMut() -> u32) -> u32 {
    let edges = [0, 1, 0x7f_ffff, 0x80_0000, 0x80_0001, 0x3f80_0000, 0x7f7f_ffff, 0x7f00_0000];
    let bits = next();
    match next() % 5 {
        0 => edges[(next() % 8) as usize] | bits & 0x8000_0000,
        1 => bits & 0xff80_0000,
        2 | 3 => bits & 0x807f_ffff | (0x3f00_0000 + ((next() % 16) << 23)),
        _ => bits,
    }
}
