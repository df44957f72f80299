//! Scenes and queries that share coordinates, so that faces, edges and corners meet; and numbers of every size.

use broadsweep::query::{CapsuleCast, SphereCast};
use broadsweep::{Aabb, Ray};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::RayKind;

use crate::numbers::{Like, Numbers};

/// Shows `check` cases of all kinds: a seed, what the numbers are like, the boxes and the numbers to go on with.
pub fn each(scenes: u64, mut check: impl FnMut(&str, Like, &[Aabb], &mut Numbers)) {
    for seed in 0..scenes {
        for like in Like::ALL {
            let mut numbers = Numbers::new(seed * 5 + like as u64 + 1);
            // Few boxes mostly; now and then several levels of nodes.
            let n = [0, 1, 2, 7, 8, 9, 20, 65][(seed % 8) as usize] + 500 * usize::from(seed % 16 == 15);
            let boxes = numbers.boxes(n, like);
            check(&format!("seed {seed}, {like:?}, {n} boxes"), like, &boxes, &mut numbers);
        }
    }
}

/// Axes of a box that is turned about z, of unit length.
pub const TURNED: [[f32; 3]; 3] = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];

/// Creates `count` rays of each kind.
pub fn rays(count: usize, boxes: &[Aabb]) -> Vec<Ray> {
    RayKind::ALL.iter().flat_map(|kind| kind.generate(count, 7, boxes)).collect()
}

/// Creates boxes in the cube from −4 to 4.
pub fn wide_boxes(n: usize) -> Vec<Aabb> {
    let widened = |corner: [f32; 3]| corner.map(|x| x * 8.0 - 4.0);
    Kind::Uniform.generate(n, 5).iter().map(|aabb| Aabb::new(widened(aabb.min), widened(aabb.max))).collect()
}

/// Creates [wide boxes](wide_boxes), some of them long, one without an end and one invalid.
pub fn long_boxes(n: usize) -> Vec<Aabb> {
    let mut boxes = wide_boxes(n);
    for (i, aabb) in boxes.iter_mut().enumerate() {
        aabb.max[i % 3] += (i % 7) as f32;
    }
    boxes[17] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    boxes[18].min[1] = f32::NAN;
    boxes
}

/// The sphere at the first end of a capsule, which moves alike.
pub fn sphere_of(&CapsuleCast { from, radius, direction, limit, .. }: &CapsuleCast) -> SphereCast {
    SphereCast { center: from, radius, direction, limit }
}
