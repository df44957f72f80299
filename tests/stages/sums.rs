//! Sums of products of f32 without rounding, against integers of any length.

use std::sync::LazyLock;

use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::Kernel;
use num_bigint::{BigInt, Sign};

use crate::sums::{KERNEL, operands};
use crate::*;

/// The u32 that the kernel writes for each operand: half of the long sum, its sign, and the sign of the short sum.
const RESULT_WORDS: usize = 12;

static SUMS: LazyLock<Kernel> = LazyLock::new(|| Kernel::new(gpu(), &KERNEL));

/// Returns the product of two f32, in bits, times 2^300.
fn product(a: u32, b: u32) -> BigInt {
    let part = |bits: u32| {
        (bits & 0x7f_ffff | if bits & 0x7f80_0000 != 0 { 0x80_0000 } else { 0 }, (bits >> 23 & 0xff).max(1))
    };
    let ((n, from), (c, to)) = (part(a), part(b));
    let magnitude = BigInt::from(u64::from(n) * u64::from(c)) << (from + to);
    if (a ^ b) >> 31 == 1 { -magnitude } else { magnitude }
}

fn sign(sum: &BigInt) -> i32 {
    match sum.sign() {
        Sign::Minus => -1,
        Sign::NoSign => 0,
        Sign::Plus => 1,
    }
}

/// Returns the words of a number in two's complement, from the lowest.
fn words(sum: &BigInt) -> Vec<u32> {
    let modulus = BigInt::from(1) << 640;
    let positive: BigInt = (sum + &modulus) % modulus;
    let mut words = positive.to_u32_digits().1;
    words.resize(20, 0);
    words
}

#[test]
fn sums_of_products_are_those_of_integers_of_any_length() {
    let cases = operands(100_032);
    let input = upload::<[[u32; 4]; 2]>(&cases);
    let results: Buffer<[[u32; RESULT_WORDS]; 2]> = poisoned(cases.len());
    run(|pass| {
        let groups = (cases.len() / 32) as u32;
        SUMS.dispatch(pass, groups, &[("operands", input.all()), ("results", results.all())]);
    });
    let mut signs = [0; 3];
    for ([a, b], [low, high]) in cases.iter().zip(written(&results)) {
        let products: Vec<BigInt> = a.iter().zip(b).map(|(&a, &b)| product(a, b)).collect();
        let short: BigInt = products.iter().sum();
        let long = products.iter().enumerate().map(|(k, product)| product << (k % 2)).sum();
        assert_eq!([&low[..10], &high[..10]].concat(), words(&long), "{a:x?} times {b:x?}");
        for result in [low, high] {
            assert_eq!(result[10] as i32, sign(&long), "{a:x?} times {b:x?}");
            assert_eq!(result[11] as i32, sign(&short), "{a:x?} times {b:x?}");
        }
        signs[(sign(&short) + 1) as usize] += 1;
    }
    assert!(signs.iter().all(|&count| count > 1000), "below, at and above zero: {signs:?}");
}
