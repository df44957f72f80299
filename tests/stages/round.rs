//! `round.wgsl`: when round shapes that move touch boxes, with the bits of the host.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::casts::{Path, Round};
use broadsweep::internals::constants::ROUND_CAST_U32_COUNT;
use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::Kernel;
use broadsweep::internals::layout::QueryParams;
use broadsweep::query::CapsuleCast;
use bytemuck::Zeroable;

use crate::*;

static TOUCHES: LazyLock<Kernel> = LazyLock::new(|| Kernel::specialised(gpu(), &rounds::KERNEL, &["IS_ROUND"]));

/// Returns the words of a query.
fn words(cast: &CapsuleCast) -> [u32; ROUND_CAST_U32_COUNT as usize] {
    let CapsuleCast { from, to, radius, .. } = *cast;
    let bounds: [f32; 10] = bytemuck::cast(cast.bounds());
    let all: Vec<f32> = bounds.into_iter().chain(from).chain(to).chain([radius]).collect();
    std::array::from_fn(|k| all[k].to_bits())
}

/// Returns whether the bounds touch, whether the shape does, whether that is at the start and it separates, and when.
fn on_host(cast: &CapsuleCast, aabb: &Aabb) -> [u32; 4] {
    let bounds = cast.bounds();
    let is_path = bounds.aabb.is_valid() && bounds.limit >= 0.0 && bounds.direction.iter().all(|x| x.is_finite());
    if !is_path || !aabb.is_valid() {
        return [0; 4];
    }
    let path = Path::new(bounds.aabb.min, bounds.aabb.max, bounds.direction, bounds.limit);
    if path.enter(aabb).is_none() {
        return [0; 4];
    }
    let path = path.with_round(Round::new(cast.from, cast.to, cast.radius));
    match path.enter(aabb) {
        None => [1, 0, 0, f32::INFINITY.to_bits()],
        Some(entry) => {
            let is_left_out = path.skipping_separating(true).enter(aabb).is_none();
            [1, 1, is_left_out.into(), path.time(&entry).to_bits()]
        }
    }
}

/// Compares the kernel with the host. Counts the shapes that touch, whose bounds alone touch, that touch at the start
/// and separate, and that touch later.
fn check(cases: &[(CapsuleCast, Aabb)]) -> [usize; 4] {
    let params =
        QueryParams { query_count: cases.len() as u32, u32_count: ROUND_CAST_U32_COUNT, ..QueryParams::zeroed() };
    let queries: Vec<u32> = cases.iter().flat_map(|(cast, _)| words(cast)).collect();
    let boxes: Vec<Aabb> = cases.iter().map(|(_, aabb)| *aabb).collect();
    let (params, queries) = (uniform(params), upload::<u32>(&queries));
    let boxes = upload::<u32>(bytemuck::cast_slice(&boxes));
    let results: Buffer<[u32; 4]> = poisoned(cases.len());
    run(|pass| {
        let bound =
            [("query", params.all()), ("queries", queries.all()), ("boxes", boxes.all()), ("results", results.all())];
        TOUCHES.dispatch(pass, cases.len().div_ceil(64) as u32, &bound);
    });
    let mut counts = [0; 4];
    for ((cast, aabb), found) in cases.iter().zip(written(&results)) {
        let expected = on_host(cast, aabb);
        assert_eq!(found, expected, "{cast:?} and {aabb:?}");
        let [meets, touches, is_left_out, t] = expected;
        counts[0] += touches as usize;
        counts[1] += (meets - touches) as usize;
        counts[2] += is_left_out as usize;
        counts[3] += usize::from(touches == 1 && t != 0);
    }
    counts
}

#[test]
fn round_shapes_touch_boxes_with_the_bits_of_the_host() {
    let counts = check(&rounds::cases(100_000, 1));
    println!("{counts:?}");
    assert!(counts.iter().all(|&count| count > 1_000), "{counts:?}");
}

#[test]
#[ignore = "long"]
fn many_round_shapes_touch_boxes_with_the_bits_of_the_host() {
    for seed in 2..40 {
        let counts = check(&rounds::cases(100_000, seed));
        assert!(counts.iter().all(|&count| count > 1_000), "{counts:?}");
    }
}
