//! The test of owner regions of `filters.wgsl`, in a kernel written for the purpose.

use std::sync::LazyLock;

use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::filters::rows;
use broadsweep::internals::gpu::kernel::{Kernel, Source};
use broadsweep::{Aabb, Filters};

use crate::inputs::{Random, SPECIAL};
use crate::*;

static OWNS: LazyLock<Kernel> = LazyLock::new(|| {
    let own = "
        @group(0) @binding(0) var<storage, read> boxes: array<vec2<u32>>;
        @group(0) @binding(1) var<storage, read_write> verdicts: array<u32>;

        @compute @workgroup_size(64)
        fn owner_verdicts(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32,
        ) {
            let i = group_index(group, groups) * 64u + local;
            if i < arrayLength(&boxes) / 6u {
                verdicts[i] = select(0u, 1u, passes(2u * i, 2u * i + 1u));
            }
        }";
    let shared = &[
        include_str!("../../shaders/shared/common.wgsl"),
        include_str!("../../shaders/shared/boxes.wgsl"),
        include_str!("../../shaders/filters/filters.wgsl"),
        include_str!("../../shaders/filters/by_box.wgsl"),
        include_str!("../../shaders/filters/half_space.wgsl"),
        include_str!("../../shaders/filters/spheres.wgsl"),
        include_str!("../../shaders/filters/sphere_touch.wgsl"),
        include_str!("../../shaders/shared/long_add.wgsl"),
        include_str!("../../shaders/shared/exact_sum.wgsl"),
        include_str!("../../shaders/shared/float_parts.wgsl"),
        rows::WGSL,
    ];
    Kernel::new(gpu(), &Source { label: "owner_verdicts", own, shared })
});

/// Checks a region against the mirror, for two boxes in a row each.
fn check(region: Aabb, boxes: &[Aabb]) {
    let filters = Filters::default().with_owner(Some(region));
    let lists = FilterLists::of(gpu(), &filters, boxes.len()).unwrap();
    let input = upload(boxes);
    let verdicts: Buffer<u32> = poisoned(boxes.len() / 2);
    run(|pass| {
        let buffers = [
            ("boxes", input.all()),
            ("verdicts", verdicts.all()),
            ("filter_layout", lists.layout.all()),
            ("filters", lists.words.all()),
        ];
        OWNS.dispatch(pass, (boxes.len() as u32 / 2).div_ceil(64), &buffers);
    });
    for (pair, verdict) in boxes.chunks(2).zip(written(&verdicts)) {
        assert_eq!(verdict, u32::from(region.owns(&pair[0], &pair[1])), "{region:?} and {pair:?}");
    }
}

#[test]
fn every_special_number_is_on_the_same_side_of_a_region_on_both_processors() {
    let numbers: Vec<f32> = SPECIAL.into_iter().filter(|x| !x.is_nan()).collect();
    for k in 0..3 {
        let begins = |at: f32| {
            let mut aabb = Aabb::new([1.0; 3], [f32::INFINITY; 3]);
            aabb.min[k] = at;
            aabb
        };
        let pairs = numbers.iter().flat_map(|&a| numbers.iter().flat_map(move |&b| [begins(a), begins(b)]));
        let boxes: Vec<Aabb> = pairs.collect();
        for &low in &numbers {
            for &high in numbers.iter().filter(|&&high| low <= high) {
                let mut region = Aabb::new([1.0; 3], [2.0; 3]);
                (region.min[k], region.max[k]) = (low, high);
                check(region, &boxes);
            }
        }
    }
}

#[test]
fn any_numbers_are_on_the_same_side_of_a_region_on_both_processors() {
    let mut random = Random::new(9);
    let mut number = |of: &[f32]| loop {
        let any = match random.below(3) {
            0 => f32::from_bits(random.next() as u32),
            1 => SPECIAL[random.below(16) as usize],
            _ => of[random.below(of.len() as u32) as usize].next_up(),
        };
        if !any.is_nan() {
            return any;
        }
    };
    for n in SIZES {
        let mins: Vec<f32> = (0..64).map(|_| number(&[0.0, 1.0])).collect();
        let boxes: Vec<Aabb> =
            (0..2 * n).map(|_| Aabb::new([(); 3].map(|()| number(&mins)), [f32::INFINITY; 3])).collect();
        for _ in 0..20 {
            let sides = [(); 3].map(|()| (number(&mins), if n % 2 == 0 { number(&mins) } else { f32::INFINITY }));
            check(Aabb::new(sides.map(|(a, b)| a.min(b)), sides.map(|(a, b)| a.max(b))), &boxes);
        }
    }
}
