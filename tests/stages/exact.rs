//! The exact test, the arithmetic of 64 bits and of the path of `common.wgsl`, in kernels written for the purpose.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::constants::MAX_ENTRIES;
use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::{Kernel, Source};
use broadsweep::internals::layout::{Run, dispatch_size, wide};
use proptest::prelude::*;

use crate::inputs::{Random, SPECIAL};
use crate::*;

const SHARED: &[&str] = &[include_str!("../../shaders/shared/common.wgsl")];

static OVERLAPS: LazyLock<Kernel> = LazyLock::new(|| {
    let own = "
        @group(0) @binding(0) var<storage, read> boxes: array<u32>;
        @group(0) @binding(1) var<storage, read_write> verdicts: array<vec3<u32>>;

        fn corner(at: u32) -> vec3<u32> {
            return vec3<u32>(boxes[at], boxes[at + 1u], boxes[at + 2u]);
        }

        @compute @workgroup_size(64)
        fn exact_overlaps(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32,
        ) {
            let i = group_index(group, groups) * 64u + local;
            let at = i * 12u;
            if at < arrayLength(&boxes) {
                let a = OrderedBox(ordered(corner(at)), ordered(corner(at + 3u)));
                let b = OrderedBox(ordered(corner(at + 6u)), ordered(corner(at + 9u)));
                verdicts[i] = vec3<u32>(
                    select(0u, 1u, overlap(a, b)),
                    kind_of(corner(at), corner(at + 3u)),
                    kind_of(corner(at + 6u), corner(at + 9u)),
                );
            }
        }";
    Kernel::new(gpu(), &Source { label: "exact_overlaps", own, shared: SHARED })
});

/// Returns what `kind_of` in WGSL returns.
fn kind(aabb: &Aabb) -> u32 {
    let unbounded = aabb.min.iter().chain(&aabb.max).any(|x| x.is_infinite());
    if !aabb.is_valid() { 2 } else { u32::from(unbounded) }
}

fn check_overlaps(couples: &[[Aabb; 2]]) {
    let boxes = upload(couples);
    // vec3 has a stride of four.
    let verdicts: Buffer<[u32; 4]> = poisoned(couples.len());
    run(|pass| {
        let groups = couples.len().div_ceil(64) as u32;
        OVERLAPS.dispatch(pass, groups, &[("boxes", boxes.all()), ("verdicts", verdicts.all())]);
    });
    for ([a, b], verdict) in couples.iter().zip(written(&verdicts)) {
        let [overlap, kind_a, kind_b, _] = verdict;
        assert_eq!([kind_a, kind_b], [kind(a), kind(b)], "kinds of {a:?} and {b:?}");
        let meet = overlap == 1 && kind_a != 2 && kind_b != 2;
        assert_eq!(meet, a.overlaps(b), "{a:?} and {b:?}");
    }
}

#[test]
fn the_exact_test_orders_every_special_number_as_ieee_754_does() {
    for axis in 0..3 {
        let mut couples = Vec::with_capacity(SPECIAL.len().pow(4));
        for i in 0..SPECIAL.len().pow(4) {
            let bound = |digit: u32| SPECIAL[i / SPECIAL.len().pow(digit) % SPECIAL.len()];
            let mut couple = [Aabb::new([0.0; 3], [1.0; 3]); 2];
            (couple[0].min[axis], couple[0].max[axis]) = (bound(0), bound(1));
            (couple[1].min[axis], couple[1].max[axis]) = (bound(2), bound(3));
            couples.push(couple);
        }
        check_overlaps(&couples);
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_exact_test_is_that_of_the_host_for_any_bits(seed: u64, n in 1..2000u32) {
        let mut random = Random::new(seed);
        let couples: Vec<_> = (0..n)
            .map(|_| {
                [0; 2].map(|_| {
                    // Three bits of exponent, so that many bounds are close; sometimes any bits at all.
                    let mask = if random.below(4) == 0 { u32::MAX } else { 0x83ff_0003 };
                    let mut bound = || f32::from_bits(random.next() as u32 & mask);
                    let (p, q): ([f32; 3], [f32; 3]) = ([0; 3].map(|_| bound()), [0; 3].map(|_| bound()));
                    Aabb::new(std::array::from_fn(|k| p[k].min(q[k])), std::array::from_fn(|k| p[k].max(q[k])))
                })
            })
            .collect();
        check_overlaps(&couples);
    }
}

// ---- arithmetic ----

static ARITHMETIC: LazyLock<Kernel> = LazyLock::new(|| {
    let own = "
        struct Results {
            sum: vec2<u32>,
            difference: vec2<u32>,
            product: vec2<u32>,
            shifted: vec2<u32>,
            less: u32,
            quotient: u32,
            groups: array<u32, 3>,
            unused: u32,
        }

        @group(0) @binding(0) var<storage, read> operands: array<vec4<u32>>;
        @group(0) @binding(1) var<storage, read_write> results: array<Results>;

        @compute @workgroup_size(64)
        fn exact_arithmetic(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&operands) {
                let a = operands[id.x].xy;
                let b = operands[id.x].zw;
                results[id.x] = Results(
                    add64(a, b),
                    sub64(a, b),
                    mul64(a.x, b.x),
                    shift_right64(a, b.x % 31u + 1u),
                    select(0u, 1u, less64(a, b)),
                    div_ceil(a.x, max(b.x, 1u)),
                    dispatch_size(a.x),
                    0u,
                );
            }
        }";
    Kernel::new(gpu(), &Source { label: "exact_arithmetic", own, shared: SHARED })
});

fn check_arithmetic(operands: &[[u64; 2]]) {
    let halved: Vec<[u32; 4]> =
        operands.iter().map(|&[a, b]| [halves(a)[0], halves(a)[1], halves(b)[0], halves(b)[1]]).collect();
    let input = upload(&halved);
    let results: Buffer<[u32; 14]> = poisoned(operands.len());
    run(|pass| {
        let groups = operands.len().div_ceil(64) as u32;
        ARITHMETIC.dispatch(pass, groups, &[("operands", input.all()), ("results", results.all())]);
    });
    for (&[a, b], result) in operands.iter().zip(written(&results)) {
        let (a_low, b_low) = (a as u32, b as u32);
        assert_eq!(wide(result[0], result[1]), a.wrapping_add(b), "{a} + {b}");
        assert_eq!(wide(result[2], result[3]), a.wrapping_sub(b), "{a} - {b}");
        assert_eq!(wide(result[4], result[5]), u64::from(a_low) * u64::from(b_low), "{a_low} * {b_low}");
        assert_eq!(wide(result[6], result[7]), a >> (b_low % 31 + 1), "{a} >> {}", b_low % 31 + 1);
        assert_eq!(result[8], u32::from(a < b), "{a} < {b}");
        assert_eq!(result[9], a_low.div_ceil(b_low.max(1)), "{a_low} / {b_low}, rounded up");
        assert_eq!(result[10..13], dispatch_size(a_low), "{a_low} workgroups");
    }
}

static PATHS: LazyLock<Kernel> = LazyLock::new(|| {
    let own = "
        @group(0) @binding(0) var<storage, read> runs: array<Run>;
        @group(0) @binding(1) var<storage, read_write> ranks: array<vec2<u32>>;
        @group(0) @binding(2) var<storage, read_write> quads: array<u32>;

        @compute @workgroup_size(64)
        fn path_arithmetic(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32,
        ) {
            let i = group_index(group, groups) * 64u + local;
            if i < arrayLength(&runs) {
                // By way of the words that stand for it in memory.
                let run = run_from(runs[i].hits, runs[i].first_quad, rank_and_turns(runs[i]));
                for (var bit = 0u; bit < 32u; bit += 1u) {
                    ranks[i * 32u + bit] = ranks_of(run, bit);
                }
                // An entry of this rank with the low bits of `turns` as count of candidates.
                let end = runs[i].first_rank + 1u + (runs[i].turns & 0xfffu);
                // Each of four in a row, by turns, among others that end anywhere.
                let nth = i % 4u;
                var words = vec4<u32>(0xffffffffu, 0x12345678u, 0u, 77u);
                words[nth] = end | (runs[i].hits << END_BITS);
                quads[i] = quads_of(runs[i].first_rank - nth, four_ends(words))[nth];
            }
        }";
    Kernel::new(gpu(), &Source { label: "path_arithmetic", own, shared: SHARED })
});

#[test]
fn a_bit_of_a_run_tells_the_ranks_of_both_entries_and_an_entry_has_the_quads_of_its_candidates() {
    let mut random = Random::new(9);
    // All turns, in entries at every place of a quad and far up; what is above the eighth quad means nothing.
    let runs: Vec<_> = (0..128 * 64)
        .map(|i| {
            let first_rank = i / 128 + if i % 2 == 0 { 0 } else { MAX_ENTRIES - 100 };
            let first_quad = (first_rank + 1) / 4 + random.below(3) * random.below(1 << 20);
            Run { hits: random.next() as u32, first_rank, first_quad, turns: (i % 128) << 1 | random.below(4) << 8 }
        })
        .collect();
    let input = upload(&runs);
    let ranks: Buffer<[u32; 2]> = poisoned(runs.len() * 32);
    let quads: Buffer<u32> = poisoned(runs.len());
    run(|pass| {
        let buffers = [("runs", input.all()), ("ranks", ranks.all()), ("quads", quads.all())];
        PATHS.dispatch(pass, runs.len().div_ceil(64) as u32, &buffers);
    });
    for (run, found) in runs.iter().zip(written(&ranks).chunks(32)) {
        let (mut rank, mut quad) = (run.first_rank, run.first_quad);
        for k in 0..8 {
            if k > 0 && run.turns >> k & 1 == 1 {
                rank += 1;
                quad = (rank + 1) / 4;
            } else if k > 0 {
                quad += 1;
            }
            for j in 0..4 {
                assert_eq!(found[4 * k + j], [rank, 4 * quad + j as u32], "candidate {j} of quad {k} of {run:x?}");
            }
        }
    }
    for (run, found) in runs.iter().zip(written(&quads)) {
        let candidates = run.first_rank + 1..run.first_rank + 1 + (run.turns & 0xfff);
        let mut expected: Vec<u32> = candidates.map(|rank| rank / 4).collect();
        expected.dedup();
        assert_eq!(found as usize, expected.len().max(1), "{run:x?}");
    }
}

#[test]
fn counts_of_64_bits_carry_at_every_edge() {
    let half = [0, 1, 2, 30, 31, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];
    let values: Vec<u64> = half.iter().flat_map(|high| half.map(|low| high << 32 | low)).collect();
    let operands: Vec<_> = values.iter().flat_map(|&a| values.iter().map(move |&b| [a, b])).collect();
    check_arithmetic(&operands);
}

#[test]
fn a_dispatch_covers_its_workgroups_and_is_laid_out_alike_on_host_and_gpu() {
    let around = [1, 65_535, 2 * 65_535, 1 << 20, 65_535 * 65_535];
    let groups: Vec<u32> = around.into_iter().flat_map(|n| [n - 1, n, n + 1]).collect();
    for &n in &groups {
        let [x, y, z] = dispatch_size(n);
        assert!(u64::from(x) * u64::from(y) >= u64::from(n), "{n} workgroups");
        assert!(x <= 65_535 && z == 1 && (n > 65_535 * 65_535 || y <= 65_535), "{n} workgroups");
        assert!(u64::from(x) * (u64::from(y) - 1) < u64::from(n).max(1), "{n} workgroups: a row too many");
    }
    check_arithmetic(&groups.iter().map(|&n| [u64::from(n), 1]).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn counts_of_64_bits_are_those_of_the_host(operands in prop::collection::vec(any::<[u64; 2]>(), 1..500)) {
        check_arithmetic(&operands);
    }
}
