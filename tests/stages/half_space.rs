//! The exact test of half-spaces of `half_space.wgsl`, in a kernel written for the purpose.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::filter::HalfSpace;
use broadsweep::internals::gpu::kernel::{Kernel, Source};
use proptest::prelude::*;

use crate::filter_cases::half_space_and_box;
use crate::inputs::{Random, SPECIAL};
use crate::*;

static TOUCHES: LazyLock<Kernel> = LazyLock::new(|| {
    let own = "
        @group(0) @binding(0) var<storage, read> half_spaces: array<vec4<u32>>;
        @group(0) @binding(1) var<storage, read> boxes: array<vec2<u32>>;
        @group(0) @binding(2) var<storage, read_write> verdicts: array<u32>;

        @compute @workgroup_size(64)
        fn half_space_verdicts(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32,
        ) {
            let i = group_index(group, groups) * 64u + local;
            if i < arrayLength(&half_spaces) {
                let half_space = half_spaces[i];
                let touches = half_space_touches(half_space.xyz, half_space.w, min_bits_of(i), max_bits_of(i));
                verdicts[i] = select(0u, 1u, touches);
            }
        }";
    let shared = &[
        include_str!("../../shaders/shared/common.wgsl"),
        include_str!("../../shaders/shared/boxes.wgsl"),
        include_str!("../../shaders/filters/half_space.wgsl"),
        include_str!("../../shaders/shared/exact_sum.wgsl"),
        include_str!("../../shaders/shared/float_parts.wgsl"),
    ];
    Kernel::new(gpu(), &Source { label: "half_space_verdicts", own, shared })
});

fn check(cases: &[(HalfSpace, Aabb)]) {
    let half_spaces: Vec<[f32; 4]> =
        cases.iter().map(|(h, _)| [h.normal[0], h.normal[1], h.normal[2], h.offset]).collect();
    let boxes: Vec<Aabb> = cases.iter().map(|(_, aabb)| *aabb).collect();
    let (half_spaces, boxes) = (upload(&half_spaces), upload(&boxes));
    let verdicts: Buffer<u32> = poisoned(cases.len());
    run(|pass| {
        let buffers = [("half_spaces", half_spaces.all()), ("boxes", boxes.all()), ("verdicts", verdicts.all())];
        TOUCHES.dispatch(pass, cases.len().div_ceil(64) as u32, &buffers);
    });
    for ((half_space, aabb), verdict) in cases.iter().zip(written(&verdicts)) {
        assert_eq!(verdict, u32::from(half_space.touches(aabb)), "{half_space:?} and {aabb:?}");
    }
}

/// Returns all valid cases of two special numbers per coordinate, along two coordinates, and an offset.
#[test]
fn every_special_number_is_taken_as_it_is() {
    let finite: Vec<f32> = SPECIAL.into_iter().filter(|x| x.is_finite()).collect();
    let bounds: Vec<f32> = SPECIAL.into_iter().filter(|x| !x.is_nan()).collect();
    let mut cases = Vec::new();
    for k in 0..3 {
        let (l, m) = ((k + 1) % 3, (k + 2) % 3);
        for (&p, &q) in finite.iter().flat_map(|p| finite.iter().map(move |q| (p, q))) {
            for (&x, &y) in bounds.iter().flat_map(|x| bounds.iter().map(move |y| (x, y))) {
                let mut half_space = HalfSpace { index: 0, normal: [0.0; 3], offset: 0.0 };
                let mut corner = [0.0; 3];
                (half_space.normal[k], half_space.normal[l]) = (p, q);
                (corner[k], corner[l], corner[m]) = (x, y, x);
                let product = (f64::from(p) * f64::from(x) + f64::from(q) * f64::from(y)) as f32;
                for offset in [0.0, product, product.next_up(), product.next_down()] {
                    half_space.offset = if offset.is_finite() { offset } else { f32::MAX };
                    cases.push((half_space, Aabb::new(corner, corner)));
                }
            }
        }
    }
    check(&cases);
}

#[test]
fn terms_of_every_two_powers_cancel_exactly_or_leave_the_smaller_one() {
    let mut cases = Vec::new();
    for high in (-149..128).step_by(3) {
        for low in -149..128 {
            let power = |power: i32| (f64::from(power)).exp2() as f32;
            for rest in [power(low), 0.0, -power(low)] {
                // p a - p a + rest - 0, in different places.
                let half_space = HalfSpace { index: 0, normal: [power(high), 1.0, power(high)], offset: 0.0 };
                let corner = [3.0, rest, -3.0];
                cases.push((half_space, Aabb::new(corner, corner)));
                // rest 2^k - p + 0 - (-p)
                let half_space = HalfSpace { index: 0, normal: [rest, -1.0, -0.0], offset: -power(high) };
                let corner = [power(-(low / 2)), power(high), 1.0];
                cases.push((half_space, Aabb::new(corner, corner)));
            }
        }
    }
    check(&cases);
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn any_half_space_touches_the_boxes_that_it_touches_on_the_host(n in 1..20_000u32, seed: u64) {
        let mut random = Random::new(seed);
        check(&(0..n).map(|_| half_space_and_box(&mut || random.next())).collect::<Vec<_>>());
    }
}
