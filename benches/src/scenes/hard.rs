//! Scenes that break a broad phase which is less than exact.

use super::everyday::{from_corner, uniform, usual_edge};
use super::random::{Random, cube_root};
use broadsweep::Aabb;

/// Creates the unit cube `n` times. Every two boxes are a pair, so a list has n(n − 1)/2.
pub fn identical(n: usize) -> Vec<Aabb> {
    vec![Aabb::new([0.0; 3], [1.0; 3]); n]
}

/// Creates cubes along the x axis, from 0 to 1: two of the three directions distinguish nothing. About four pairs per
/// box.
pub fn line(n: usize, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed, "line");
    let edge = 4.0 / n.max(1) as f64;
    (0..n).map(|_| from_corner([random.unit(), 0.0, 0.0], [edge; 3])).collect()
}

/// Creates a lattice of unit cubes at integer corners: each touches its 26 neighbours at a face, an edge or a corner,
/// and no two boxes have a volume in common. The last layer may be incomplete.
pub fn touching(n: usize) -> Vec<Aabb> {
    let side = lattice_side(n);
    (0..n)
        .map(|i| {
            let corner = [i % side, i / side % side, i / side / side].map(|x| x as f32);
            Aabb::new(corner, corner.map(|x| x + 1.0))
        })
        .collect()
}

/// Returns the least `side` with `side³ >= n`.
fn lattice_side(n: usize) -> usize {
    let mut side = 1;
    while side * side * side < n {
        side += 1;
    }
    side
}

/// Creates boxes without volume at the points of an integer lattice, eight per point on average. Every two at one point
/// are a pair: about four per box.
pub fn points(n: usize, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed, "points");
    let side = lattice_side(n.div_ceil(8)) as u32;
    (0..n)
        .map(|_| {
            let place = [0; 3].map(|_| random.below(side) as f32);
            Aabb::new(place, place)
        })
        .collect()
}

/// Creates [`uniform`] and, in the middle of the list, one box around all others.
pub fn giant(n: usize, seed: u64) -> Vec<Aabb> {
    let mut boxes = uniform(n, seed, None);
    if n > 0 {
        boxes[n / 2] = Aabb::new([-1.0; 3], [3.0; 3]);
    }
    boxes
}

/// Creates [`uniform`] and, among it, a thousand large cubes (of fewer than 8,000 boxes, every eighth one): one around
/// all others, and the rest anywhere within the unit cube, with edges of 0.1 to 1.
///
/// The number of cubes larger than a given edge falls with the cube of that edge, so that the large cubes of each
/// octave fill the same volume; each fills 0.7 % of the unit cube on average. About a dozen pairs per box where there
/// are a thousand.
pub fn thousand_giants(n: usize, seed: u64) -> Vec<Aabb> {
    let mut boxes = uniform(n, seed, None);
    let mut random = Random::new(seed, "thousand-giants");
    let count = (n / 8).min(1000);
    for i in 0..count {
        let edge = 0.1 / cube_root(1.0 - 0.999 * random.unit());
        let min = random.unit3().map(|u| u * (1.0 - edge));
        // Evenly through the list, from the middle of its first part on.
        boxes[(2 * i + 1) * n / (2 * count)] =
            if i == 0 { Aabb::new([-1.0; 3], [3.0; 3]) } else { from_corner(min, [edge; 3]) };
    }
    boxes
}

/// Creates [`uniform`] and, among it, the whole world, the half-space below z = 0.5 and an endless column (of fewer
/// than three boxes, only the first of these).
pub fn infinite(n: usize, seed: u64) -> Vec<Aabb> {
    const INF: f32 = f32::INFINITY;
    let mut boxes = uniform(n, seed, None);
    let unbounded = [
        Aabb::new([-INF; 3], [INF; 3]),
        Aabb::new([-INF; 3], [INF, INF, 0.5]),
        Aabb::new([0.5, 0.5, -INF], [0.55, 0.55, INF]),
    ];
    for (i, aabb) in unbounded.into_iter().enumerate().take(n) {
        boxes[i * n.max(3) / 3] = aabb;
    }
    boxes
}

/// Creates [`uniform`], with every sixteenth box invalid in one of six ways: a NaN in the lower corner, the upper one
/// or everywhere, inverted on one axis, on all, or at infinity.
pub fn invalid(n: usize, seed: u64) -> Vec<Aabb> {
    let mut boxes = uniform(n, seed, None);
    for (count, aabb) in boxes.iter_mut().skip(7).step_by(16).enumerate() {
        let k = count % 3;
        match count % 6 {
            0 => aabb.min[k] = f32::NAN,
            1 => aabb.max[k] = f32::NAN,
            2 => *aabb = Aabb::new([f32::NAN; 3], [f32::NAN; 3]),
            3 => aabb.max[k] = aabb.min[k].next_down(),
            4 => *aabb = Aabb::new(aabb.max, aabb.min),
            _ => *aabb = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]),
        }
    }
    boxes
}

/// Creates two scenes in one. Even boxes lie in a cube of edge 10³⁰ at (10³⁰, 10³⁰, 10³⁰); odd ones fill the whole
/// range of `f32`, from its lowest to its largest number, so that a sum or an edge of such a box overflows.
pub fn huge(n: usize, seed: u64) -> Vec<Aabb> {
    const MAX: f64 = f32::MAX as f64;
    let mut random = Random::new(seed, "huge");
    let edge = usual_edge(n.div_ceil(2));
    (0..n)
        .map(|i| {
            let corner = random.unit3();
            if i % 2 == 0 {
                return from_corner(corner.map(|u| 1e30 + 1e30 * u), [1e30 * edge; 3]);
            }
            let min = corner.map(|u| MAX * (2.0 * u - 1.0));
            let max = min.map(|x| (x + 2.0 * MAX * edge).min(MAX));
            Aabb::new(min.map(|x| x as f32), max.map(|x| x as f32))
        })
        .collect()
}

/// Creates cubes of edge 0.001 whose coordinates begin at ten million, where neighbouring `f32` are 1 apart: each is
/// rounded outward as [`Aabb::from_f64`] does, so that most become unit cubes. About as many pairs as lattice cubes of
/// that density have.
pub fn offset(n: usize, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed, "offset");
    // A unit cube on the lattice meets 27 places, and there are n / side³ boxes at each.
    let side = 1.5 * cube_root(n.max(1) as f64);
    (0..n)
        .map(|_| {
            let min = random.unit3().map(|u| 1e7 + side * u);
            Aabb::from_f64(min, min.map(|x| x + 1e-3))
        })
        .collect()
}

/// Creates [`uniform`] around the origin, shrunk until every coordinate is denormal or a zero of either sign: hardware
/// that flushes denormals to zero sees one point, and everything a pair.
pub fn denormal(n: usize, seed: u64) -> Vec<Aabb> {
    // The unit cube, in steps of the smallest positive float: with a box's edge it stays below 2²³ of them,
    // where normal numbers begin.
    const STEPS: f64 = (1 << 22) as f64;
    let mut random = Random::new(seed, "denormal");
    let edge = (STEPS * usual_edge(n)) as i32;
    (0..n)
        .map(|_| {
            let min = random.unit3().map(|u| (STEPS * (u - 0.5)) as i32);
            Aabb::new(min.map(|x| step(x, &mut random)), min.map(|x| step(x + edge, &mut random)))
        })
        .collect()
}

/// Returns `count` times the smallest positive float; a zero has either sign.
fn step(count: i32, random: &mut Random) -> f32 {
    let size = f32::from_bits(count.unsigned_abs());
    let negative = if count == 0 { random.below(2) == 0 } else { count < 0 };
    if negative { -size } else { size }
}

/// Creates boxes that meet where x and y are zero, and nowhere else: on those axes they go from −1 to 0, from 0 to 1 or
/// from 0 to 0, each zero of either sign. Along z they lie as in [`line`](line()), about four pairs per box.
pub fn signed_zero(n: usize, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed, "signed-zero");
    let edge = 4.0 / n.max(1) as f64;
    (0..n)
        .map(|_| {
            let [x, y] = [0; 2].map(|_| {
                let zeros = [0; 2].map(|_| step(0, &mut random));
                match random.below(3) {
                    0 => [-1.0, zeros[1]],
                    1 => [zeros[0], 1.0],
                    _ => zeros,
                }
            });
            let z = random.unit();
            Aabb::new([x[0], y[0], z as f32], [x[1], y[1], (z + edge) as f32])
        })
        .collect()
}
