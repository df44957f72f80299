//! Filters and spheres of searches.

use broadsweep::filter::HalfSpace;
use broadsweep::{Aabb, Filters, Pair};

/// Filters of every kind.
pub fn filters(n: usize) -> Filters {
    let index = |i: usize| i as u32;
    Filters::default()
        .with_group((0..n).map(|i| 1 << (i % 3)).collect())
        .with_mask((0..n).map(|i| 7 ^ (1 << (i % 2))).collect())
        .with_body((0..n).map(|i| index(i / 2)).collect())
        .with_parent((0..n).map(|i| if i % 5 == 0 { index(i / 4) } else { Filters::NO_PARENT }).collect())
        .with_world((0..n).map(|i| if i % 11 == 0 { Filters::GLOBAL } else { index(i % 3) }).collect())
        .with_fixed((0..n).map(|i| i % 4 == 0).collect())
        .with_sleeping((0..n).map(|i| i % 7 == 0).collect())
        .with_second((0..n).map(|i| i % 3 == 0).collect())
        .with_margin((0..n).map(|i| (i % 3) as f32 * 0.01).collect())
        .with_exclude((0..n.min(40)).skip(3).map(|i| Pair::new(0, index(i))).collect())
        .with_include(if n > 3 { vec![Pair::new(0, 1), Pair::new(1, 2), Pair::new(1, 3)] } else { Vec::new() })
        .with_half_spaces(if n > 9 {
            vec![HalfSpace { index: 9, normal: [0.0, 0.0, 1.0], offset: 0.2 }]
        } else {
            Vec::new()
        })
        // Through the corners of boxes that begin at zero and have no margin.
        .with_owner(Some(Aabb::new([f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY], [0.9, f32::INFINITY, f32::INFINITY])))
}

/// Generates spheres about boxes: some touch, some are only close, and some boxes have none.
pub fn spheres(boxes: &[Aabb]) -> Vec<[f32; 4]> {
    let sphere = |(i, aabb): (usize, &Aabb)| {
        let finite = |x: f32| if x.is_finite() { x } else { 1.0 };
        let [x, y, z] = [0, 1, 2].map(|k| finite(0.5 * (aabb.min[k] + aabb.max[k])));
        let half = finite(0.5 * (aabb.max[i % 3] - aabb.min[i % 3]).abs());
        match i % 4 {
            // Whole numbers, with a distance of exactly five. Some spheres overlap by a last bit.
            0 if i % 3 == 0 => [3.0 * (1 + i / 20 % 2) as f32, 4.0 * (1 + i / 36 % 2) as f32, 0.0, 2.5f32.next_up()],
            0 => [3.0 * (1 + i / 20 % 2) as f32, 4.0 * (1 + i / 36 % 2) as f32, 0.0, 2.5],
            1 => [x, y, z, f32::INFINITY],
            _ => [x, y, z, half],
        }
    };
    boxes.iter().enumerate().map(sphere).collect()
}
