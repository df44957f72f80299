//! Scenes as simulations have them.

use super::random::{Random, cube_root, power};
use broadsweep::Aabb;

/// Returns the edge of equal cubes whose minimum corners are uniform in a unit volume, so that each box overlaps eight
/// others, which is four pairs per box: 0.01 for a million boxes.
pub(super) fn usual_edge(n: usize) -> f64 {
    0.01 * cube_root(1e6 / n.max(1) as f64)
}

/// Creates a box from its lower corner and its edges, each bound rounded to the nearest `f32`.
pub(super) fn from_corner(min: [f64; 3], edges: [f64; 3]) -> Aabb {
    let max = [0, 1, 2].map(|k| (min[k] + edges[k]) as f32);
    Aabb::new(min.map(|x| x as f32), max)
}

/// Creates cubes whose minimum corners are uniform in the unit cube.
///
/// Without an `edge`, it is 0.01 · (10⁶ / n)^(1/3), which gives about four pairs per box for every `n`.
pub fn uniform(n: usize, seed: u64, edge: Option<f32>) -> Vec<Aabb> {
    let edge = edge.map_or_else(|| usual_edge(n), f64::from);
    let mut random = Random::new(seed, "uniform");
    (0..n).map(|_| from_corner(random.unit3(), [edge; 3])).collect()
}

/// Creates cubes of very different size in the unit cube: edges log-uniform from 1 to 100 of a unit that gives about as
/// many pairs as [`uniform`].
pub fn spread(n: usize, seed: u64) -> Vec<Aabb> {
    // The mean volume of a box enlarged by another, E[(a + b)³], is 284,789 units for these edges, where that of
    // equal cubes is 8 edges cubed.
    let unit = usual_edge(n) / cube_root(284_789.0 / 8.0);
    let mut random = Random::new(seed, "spread");
    (0..n)
        .map(|_| {
            let edge = unit * power(100.0, random.unit());
            from_corner(random.unit3(), [edge; 3])
        })
        .collect()
}

/// Creates boxes in 64 Gaussian clusters in the unit cube. Some clusters hold many times more boxes than others, and
/// their widths differ fivefold, so one cell size cannot suit them all.
pub fn clusters(n: usize, seed: u64) -> Vec<Aabb> {
    const COUNT: usize = 64;
    let mut random = Random::new(seed, "clusters");
    let centers: Vec<([f64; 3], f64)> = (0..COUNT).map(|_| (random.unit3(), random.between(0.02, 0.1))).collect();
    let edge = 0.5 * usual_edge(n);
    (0..n)
        .map(|_| {
            // Squared: the first cluster is eight times as likely as the mean.
            let choice = random.unit();
            let (center, width) = centers[(choice * choice * COUNT as f64) as usize];
            let min = center.map(|x| x + width * random.gauss());
            from_corner(min, [0; 3].map(|_| edge * random.between(0.5, 1.5)))
        })
        .collect()
}

/// Creates boxes in 1,000 Gaussian clusters with centres uniform in the unit cube. Widths and populations differ up to
/// tenfold each, independently, so that the densest cluster is thousands of times as dense as the sparsest, and
/// clusters lie within one another.
///
/// The mean edge gives about six pairs per box over all clusters.
pub fn many_clusters(n: usize, seed: u64) -> Vec<Aabb> {
    const COUNT: usize = 1000;
    const NARROWEST: f64 = 0.004;
    let mut random = Random::new(seed, "many-clusters");
    let clusters: Vec<([f64; 3], f64)> =
        (0..COUNT).map(|_| (random.unit3(), NARROWEST * power(10.0, random.unit()))).collect();
    let populations: Vec<f64> = (0..COUNT).map(|_| power(10.0, random.unit())).collect();
    let total: f64 = populations.iter().sum();
    // `[COUNT]` ascending: the share of the boxes in each cluster and those before it.
    let mut shares = populations.clone();
    let mut sum = 0.0;
    for share in &mut shares {
        sum += *share / total;
        *share = sum;
    }

    let pairs_per_box = |edge: f64| {
        // Of two boxes of one cluster, the chance to overlap on an axis is erf(edge / (2 width)); this is within
        // a tenth of that. Boxes of different clusters lie nearly like boxes anywhere in the unit cube.
        const SQRT_PI: f64 = 1.772_453_850_905_516;
        let (mut chance, mut same) = (0.0, 0.0);
        for ((_, width), population) in clusters.iter().zip(&populations) {
            let both = (population / total) * (population / total);
            let x = edge / (SQRT_PI * width);
            let axis = x / (1.0 + x * x).sqrt();
            same += both;
            chance += both * axis * axis * axis;
        }
        let apart = edge * (2.0 - edge);
        0.5 * n.saturating_sub(1) as f64 * (chance + (1.0 - same) * apart * apart * apart)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let edge = 0.5 * (low + high);
        if pairs_per_box(edge) < 6.0 {
            low = edge;
        } else {
            high = edge;
        }
    }
    (0..n)
        .map(|_| {
            let choice = random.unit();
            // Rounding may leave the last share below 1.
            let (center, width) = clusters[shares.partition_point(|&share| share <= choice).min(COUNT - 1)];
            let min = center.map(|x| x + width * random.gauss());
            from_corner(min, [0; 3].map(|_| high * random.between(0.5, 1.5)))
        })
        .collect()
}

/// Creates two equal clusters a million apart along x, each a hundred wide. A grid over the whole world that is fine
/// enough for either has 10¹² cells and more.
pub fn two_clusters(n: usize, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed, "two-clusters");
    // Each cluster has half of the boxes.
    let edge = 100.0 * usual_edge(n.div_ceil(2));
    (0..n)
        .map(|_| {
            let side = if random.below(2) == 0 { -5e5 } else { 5e5 };
            let [x, y, z] = random.unit3().map(|u| 100.0 * u);
            from_corner([side + x, y, z], [edge; 3])
        })
        .collect()
}

/// Creates a thin rod from the origin to (1, 0.75, 0.5), oblique to all three axes: a sweep along any coordinate axis
/// meets boxes that a sweep along the rod keeps apart.
pub fn diagonal(n: usize, seed: u64) -> Vec<Aabb> {
    const THICKNESS: f64 = 0.05;
    let mut random = Random::new(seed, "diagonal");
    // The rod is a sheared prism with a section of about 1.6 THICKNESS² across x.
    let edge = usual_edge(n) * cube_root(1.6 * THICKNESS * THICKNESS);
    (0..n)
        .map(|_| {
            let along = random.unit();
            let [x, y, z] = random.unit3().map(|u| THICKNESS * u);
            from_corner([along + x, 0.75 * along + y, 0.5 * along + z], [edge; 3])
        })
        .collect()
}

/// Three unit vectors, square to each other, none of them along an axis nor in a coordinate plane; the last is the
/// normal of [`slab`] and [`plane`].
const OBLIQUE: [[f64; 3]; 3] =
    [[2.0 / 3.0, 1.0 / 3.0, -2.0 / 3.0], [2.0 / 3.0, -2.0 / 3.0, 1.0 / 3.0], [1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]];

/// Returns the point with these coordinates along [`OBLIQUE`].
fn oblique([a, b, c]: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| a * OBLIQUE[0][k] + b * OBLIQUE[1][k] + c * OBLIQUE[2][k])
}

/// Creates a plate of 1 by 1 by 0.1 with the normal (1, 2, 2) / 3, oblique to all three axes, filled with equal cubes:
/// its box is mostly empty, and its principal axes are none of the coordinate axes.
pub fn slab(n: usize, seed: u64) -> Vec<Aabb> {
    const THICKNESS: f64 = 0.1;
    let mut random = Random::new(seed, "slab");
    let edge = usual_edge(n) * cube_root(THICKNESS);
    (0..n)
        .map(|_| {
            let [a, b, c] = random.unit3();
            from_corner(oblique([a, b, THICKNESS * c]), [edge; 3])
        })
        .collect()
}

/// Creates equal cubes whose minimum corners lie in a square of edge 1 with the normal (1, 2, 2) / 3, oblique to all
/// three axes: cells in space are empty but for one layer, and every axis-aligned projection is full.
pub fn plane(n: usize, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed, "plane");
    // Two cubes overlap where the second corner lies in a cube of twice the edge around the first, which this
    // plane cuts in 5.25 edges squared: an edge of sqrt(8 / 5.25 n) gives four pairs per box.
    let edge = (8.0 / (5.25 * n.max(1) as f64)).sqrt();
    (0..n)
        .map(|_| {
            let [a, b, _] = random.unit3();
            from_corner(oblique([a, b, 0.0]), [edge; 3])
        })
        .collect()
}

/// Creates a heap of bricks, as gravity would leave it, z upward from 0: wide and dense at the floor, narrow and sparse
/// on top, the bricks flatter than wide. It is drawn, not simulated, and bricks intersect; those of
/// [`settled`](super::settled()) do not.
pub fn pile(n: usize, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed, "pile");
    let edge = 0.5 * usual_edge(n);
    (0..n)
        .map(|_| {
            let u = random.unit();
            let height = u * u;
            let half_width = 0.5 * (1.0 - 0.9 * u);
            let edges =
                [edge * random.between(0.8, 1.6), edge * random.between(0.8, 1.6), edge * random.between(0.4, 1.0)];
            let x = random.between(-half_width, half_width);
            let y = random.between(-half_width, half_width);
            from_corner([x, y, 0.5 * height], edges)
        })
        .collect()
}
