//! Inputs of the arithmetic of `round.wgsl`: a kernel, and round shapes that move past boxes.

use broadsweep::Aabb;
use broadsweep::internals::gpu::kernel::Source;
use broadsweep::query::CapsuleCast;

use super::numbers::{Like, Numbers};

/// Computes for each shape and its box: whether the bounds touch, whether the shape touches, whether it touches at the
/// start and separates, and the time. A shape that is not round is its bounds.
pub const KERNEL: Source = Source {
    label: "round_touch",
    own: "
@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read> queries: array<u32>;
@group(0) @binding(2) var<storage, read> boxes: array<u32>;
@group(0) @binding(3) var<storage, read_write> results: array<vec4<u32>>;

@compute @workgroup_size(64)
fn round_touch(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group.x * 64u + local;
    if i >= query.query_count {
        return;
    }
    let low = vec3<u32>(boxes[6u * i], boxes[6u * i + 1u], boxes[6u * i + 2u]);
    let own = BoxBits(low, vec3<u32>(boxes[6u * i + 3u], boxes[6u * i + 4u], boxes[6u * i + 5u]));
    var result = vec4<u32>(0u);
    if begin_shape(i) && enters(own.low, own.high) {
        let time = number_of(own);
        let is_at_start = latest(own.low, own.high).speed == 0u;
        result = vec4<u32>(1u, 1u, select(0u, 1u, is_at_start && separates(own)), time);
        if is_round {
            let touch = touch_of(own, time, is_at_start);
            let is_left_out = touch.is_touched && touch.is_at_start && departs(touch, own);
            result = vec4<u32>(1u, select(0u, 1u, touch.is_touched), select(0u, 1u, is_left_out), touch.t);
        }
    }
    results[i] = result;
}",
    shared: &[
        include_str!("../../shaders/tree/path.wgsl"),
        include_str!("../../shaders/tree/round_shape.wgsl"),
        include_str!("../../shaders/tree/round.wgsl"),
        include_str!("../../shaders/tree/path_time.wgsl"),
        include_str!("../../shaders/tree/round_down.wgsl"),
        include_str!("../../shaders/tree/double.wgsl"),
        include_str!("../../shaders/tree/node.wgsl"),
        include_str!("../../shaders/tree/curve.wgsl"),
        include_str!("../../shaders/shared/exact_sum.wgsl"),
        include_str!("../../shaders/shared/float_parts.wgsl"),
        include_str!("../../shaders/shared/common.wgsl"),
    ],
};

/// Creates this many shapes, each with a box that may be in its way: balls, capsules and shapes that are not round,
/// with numbers of every kind.
pub fn cases(count: usize, seed: u64) -> Vec<(CapsuleCast, Aabb)> {
    let mut numbers = Numbers::new(seed);
    (0..count)
        .map(|i| {
            let like = Like::ALL[i / 4 % Like::ALL.len()];
            let aabb = numbers.boxes(1, like)[0];
            let boxes = [aabb];
            let (sphere, moving) = (numbers.sphere(&boxes, like), numbers.cast(&boxes, like));
            let mut cast = CapsuleCast {
                from: sphere.center,
                to: if i % 2 == 0 { sphere.center } else { numbers.origin(&boxes, like) },
                radius: [sphere.radius, sphere.radius.abs(), 0.0, f32::from_bits(sphere.radius.to_bits() / 2)][i % 4],
                direction: moving.direction,
                limit: moving.limit,
            };
            match i % 64 {
                // It barely misses or touches, past an edge and a corner of the unit box.
                20 => cast = grazing([-50.0, 4.0, 5.0], [1.0, 0.0, 0.0], 5.0, &mut numbers),
                21 => cast = grazing([-9.0, 12.0, 7.0], [3.0, -2.0, 0.0], 7.0, &mut numbers),
                // A segment so long that the nearest place has to be found by halves.
                22 => cast.to = cast.from.map(|x| x + 1e30),
                _ => {}
            }
            (cast, if (20..22).contains(&(i % 64)) { Aabb::new([0.0; 3], [1.0; 3]) } else { aabb })
        })
        .collect()
}

/// Returns a ball that touches what it does by a radius of about this.
fn grazing(from: [f32; 3], direction: [f32; 3], radius: f32, numbers: &mut Numbers) -> CapsuleCast {
    let radius = f32::from_bits(radius.to_bits() - 3 + numbers.below(7) as u32);
    CapsuleCast { from, to: from, radius, direction, limit: f32::INFINITY }
}
