//! `query_moving`, `query_capsule` and `query_turned`: derived queries have the numbers of the host; and the 64-bit
//! arithmetic that derives them.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::constants::{CAPSULE_PARTS, ROUND_CAST_U32_COUNT, TURNED_PARTS};
use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::{Kernel, Source};
use broadsweep::internals::layout::{QueryParams, wide};
use broadsweep::internals::mirror;
use broadsweep::internals::tree::query;
use broadsweep::query::{Capsule, CapsuleCast, OrientedBox, SphereCast};
use bytemuck::Zeroable;

use crate::inputs::{Random, SPECIAL};
use crate::*;

// ---- arithmetic ----

static ARITHMETIC: LazyLock<Kernel> = LazyLock::new(|| Kernel::new(gpu(), &doubles::KERNEL));

fn round_up(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) < value { nearest.next_up() } else { nearest }
}

/// Returns the upper one of two neighbours that a sum lies between.
fn sum_up(a: f32, b: f32) -> f32 {
    Aabb::from_center_half([a; 3], [b; 3]).max[0]
}

fn check_doubles(operands: &[[f64; 2]]) {
    let bits: Vec<[u64; 2]> = operands.iter().map(|pair| pair.map(f64::to_bits)).collect();
    let input = upload::<[u32; 4]>(bytemuck::cast_slice(&bits));
    let results: Buffer<[u32; 12]> = poisoned(operands.len());
    run(|pass| {
        let groups = operands.len().div_ceil(64) as u32;
        ARITHMETIC.dispatch(pass, groups, &[("operands", input.all()), ("results", results.all())]);
    });
    for (&[a, b], result) in operands.iter().zip(written(&results)) {
        let at = |k: usize| wide(result[2 * k], result[2 * k + 1]);
        assert_eq!(at(0), (a + b).to_bits(), "{a:e} + {b:e}");
        assert_eq!(at(1), (a * b).to_bits(), "{a:e} * {b:e}");
        if b != 0.0 {
            assert_eq!(at(2), (a / b).to_bits(), "{a:e} / {b:e}");
        }
        assert_eq!(at(3), a.abs().sqrt().to_bits(), "the root of {a:e}");
        assert_eq!(result[8], (a as f32).to_bits(), "{a:e} as f32");
        assert_eq!(result[9], round_up(a).to_bits(), "{a:e} upward");
        let [x, y] = [a, b].map(|number| f32::from_bits(number.to_bits() as u32));
        if x.is_finite() && y.is_finite() && y >= 0.0 {
            assert_eq!(f32::from_bits(result[10]), sum_up(x, y), "{x:e} + {y:e}, upward");
        }
        assert_eq!(result[11], u32::from(a < b), "{a:e} < {b:e}");
    }
}

#[test]
fn numbers_of_64_bits_are_rounded_as_cpus_round_them() {
    check_doubles(&doubles::operands(200_000));
}

// ---- queries ----

const MOVING_U32_COUNT: usize = ROUND_CAST_U32_COUNT as usize;

/// Returns a finite number: whole, usual, or any.
fn number(random: &mut Random, like: u32) -> f32 {
    match like {
        0 => random.below(9) as f32 - 4.0,
        1 => random.between(-4.0, 4.0),
        _ => {
            let any = f32::from_bits(random.next() as u32);
            let special = SPECIAL[random.below(SPECIAL.len() as u32) as usize];
            [any, special, any * 1e-30, 1.0].into_iter().find(|x| x.is_finite()).unwrap_or_default()
        }
    }
}

/// Runs a kernel that derives queries from `external` ones, and returns its output: this u32 count of each query,
/// and behind them the half-spaces.
fn derived(source: &Source, external: &[u32], count: usize, u32_count: usize, parts: u32) -> (Vec<u32>, Vec<[f32; 4]>) {
    let params = QueryParams {
        query_count: count as u32,
        u32_count: external.len().checked_div(count).unwrap_or(0) as u32,
        parts: (count * u32_count) as u32,
        ..QueryParams::zeroed()
    };
    let (params, input) = (uniform(params), upload(external));
    let output = poisoned::<u32>(count * (u32_count + 4 * parts as usize));
    run(|pass| {
        let bound = [("query", params.all()), ("external_queries", input.all()), ("queries", output.all())];
        Kernel::new(gpu(), source).dispatch(pass, count.div_ceil(64) as u32, &bound);
    });
    let mut queries = written(&output);
    let parts = queries.split_off(count * u32_count);
    (queries, bytemuck::pod_collect_to_vec(&parts))
}

/// Compares regions with those of the host: bounds, and so many half-spaces at most for each.
fn assert_regions(found: &(Vec<u32>, Vec<[f32; 4]>), most: u32, expected: &[Option<mirror::query::CutOut>]) {
    let none = (Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]), Vec::new());
    for (i, (words, expected)) in found.0.chunks(8).zip(expected).enumerate() {
        let (bounds, parts) = expected.as_ref().unwrap_or(&none);
        let own: Vec<f32> = words[..6].iter().map(|&bits| f32::from_bits(bits)).collect();
        assert_eq!([&own[..3], &own[3..]], [bounds.min, bounds.max], "region {i}");
        assert_eq!(words[6..], [i as u32 * most, parts.len() as u32], "region {i}");
        assert_eq!(found.1[i * most as usize..][..parts.len()], parts[..], "region {i}");
    }
}

#[test]
fn turned_boxes_are_cut_out_as_on_the_host() {
    for n in SIZES {
        for like in 0..3 {
            let mut random = Random::new(u64::from(n + like));
            let mut three = || [0; 3].map(|_| number(&mut random, like));
            let mut boxes: Vec<OrientedBox> = (0..n)
                .map(|i| {
                    let mut axes = [three(), three(), three()];
                    if i % 5 == 0 {
                        axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
                    } else if i % 7 == 0 {
                        // Nearly in a plane.
                        axes[2] = std::array::from_fn(|k| axes[0][k] + axes[1][k] * 1.001);
                    }
                    OrientedBox { center: three(), half: three().map(f32::abs), axes }
                })
                .collect();
            for (i, turned) in boxes.iter_mut().enumerate().step_by(11) {
                match i % 4 {
                    0 => turned.half[1] = -0.5,
                    1 => turned.center[2] = f32::INFINITY,
                    2 => turned.axes[0] = [0.0, -0.0, 0.0],
                    _ => turned.half = [-0.0; 3],
                }
            }
            let found = derived(&query::TURNED, bytemuck::cast_slice(&boxes), boxes.len(), 8, TURNED_PARTS);
            assert_regions(&found, TURNED_PARTS, &mirror::query::turned(&boxes));
        }
    }
}

#[test]
fn capsules_are_cut_out_and_moved_as_on_the_host() {
    for n in SIZES {
        for like in 0..3 {
            let mut random = Random::new(u64::from(100 + n + like));
            let mut three = || [0; 3].map(|_| number(&mut random, like));
            let mut casts: Vec<CapsuleCast> = (0..n)
                .map(|i| {
                    let (from, to, [radius, limit, _]) = (three(), three(), three().map(f32::abs));
                    let to = if i % 6 == 0 { from } else { to };
                    CapsuleCast { from, to, radius, direction: three(), limit }
                })
                .collect();
            for (i, cast) in casts.iter_mut().enumerate().step_by(11) {
                match i % 5 {
                    0 => cast.radius = -1.0,
                    1 => cast.to[1] = f32::NAN,
                    2 => cast.radius = f32::INFINITY,
                    3 => cast.radius = f32::NAN,
                    _ => cast.radius = -0.0,
                }
            }
            let capsules: Vec<Capsule> =
                casts.iter().map(|&CapsuleCast { from, to, radius, .. }| Capsule { from, to, radius }).collect();
            let found = derived(&query::CAPSULE, bytemuck::cast_slice(&capsules), capsules.len(), 8, CAPSULE_PARTS);
            assert_regions(&found, CAPSULE_PARTS, &mirror::query::capsule(&capsules));

            let spheres: Vec<SphereCast> = casts
                .iter()
                .map(|&CapsuleCast { from, radius, direction, limit, .. }| SphereCast {
                    center: from,
                    radius,
                    direction,
                    limit,
                })
                .collect();
            let [all, balls]: [&[u32]; 2] = [bytemuck::cast_slice(&casts), bytemuck::cast_slice(&spheres)];
            for (external, expected) in [(all, mirror::query::moving(&casts)), (balls, mirror::query::moving(&spheres))]
            {
                let (found, _) = derived(&query::MOVING, external, casts.len(), MOVING_U32_COUNT, 0);
                assert_eq!(found.len(), expected.len());
                for (i, (own, expected)) in found.iter().zip(&expected).enumerate() {
                    let (own, expected) = (f32::from_bits(*own), f32::from_bits(*expected));
                    assert!(own == expected || own.is_nan() && expected.is_nan(), "word {i}: {own}, not {expected}");
                }
            }
        }
    }
}
