//! Queries of a scene: rays, shapes and points, the same on every platform.

use std::fmt;
use std::str::FromStr;

use broadsweep::query::NearestQuery;
use broadsweep::{Aabb, Ray};

use super::random::{Random, cube_root};

/// A kind of rays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RayKind {
    /// Rays of a camera in front of the scene that looks at its middle, row by row of a square picture.
    Camera,
    /// From anywhere in the scene to anywhere.
    Incoherent,
    /// From anywhere in the scene to anywhere, a hundredth of the scene's diagonal long.
    Short,
}

impl RayKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Camera, Self::Incoherent, Self::Short];

    /// Returns the name to type and to print.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Camera => "camera",
            Self::Incoherent => "incoherent",
            Self::Short => "short",
        }
    }

    /// Creates this many rays for a scene.
    pub fn generate(self, count: usize, seed: u64, boxes: &[Aabb]) -> Vec<Ray> {
        let (low, high) = extent(boxes);
        let random = Random::new(seed, "rays");
        let diagonal = length(std::array::from_fn(|k| high[k] - low[k]));
        if self == Self::Camera {
            return camera(count, low, high);
        }
        let limit = if self == Self::Short { (diagonal / 100.0) as f32 } else { f32::INFINITY };
        let ray = |i: usize| {
            let mut random = random.of(i);
            let origin = within(low, high, random.unit3());
            let to = random.in_ball();
            // Of unit length, but for rounding: a hair's breadth in the middle of the ball has no direction.
            let size = length(to).max(1e-6);
            Ray::segment(origin, to.map(|x| (x / size) as f32), limit)
        };
        (0..count).map(ray).collect()
    }
}

impl fmt::Display for RayKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for RayKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("there are no rays `{name}`; there are camera, incoherent and short"))
    }
}

/// Creates points anywhere in the scene.
pub fn points(count: usize, seed: u64, boxes: &[Aabb]) -> Vec<NearestQuery> {
    let (low, high) = extent(boxes);
    let random = Random::new(seed, "points");
    (0..count).map(|i| NearestQuery::new(within(low, high, random.of(i).unit3()))).collect()
}

/// Creates cubes anywhere in the scene, of which each would touch about this many boxes, were they spread evenly.
pub fn cubes(count: usize, seed: u64, boxes: &[Aabb], answers: f64) -> Vec<Aabb> {
    let (low, high) = extent(boxes);
    let volume: f64 = (0..3).map(|k| (high[k] - low[k]).max(1e-30)).product();
    let usual: Vec<f64> = boxes.iter().filter_map(finite).map(|(low, high)| high[0] - low[0]).collect();
    let edge = usual.iter().sum::<f64>() / usual.len().max(1) as f64;
    let reach = cube_root(answers * volume / usual.len().max(1) as f64);
    let half = ((reach - edge) / 2.0).max(0.0) as f32;
    let random = Random::new(seed, "cubes");
    (0..count).map(|i| Aabb::from_center_half(within(low, high, random.of(i).unit3()), [half; 3])).collect()
}

/// Creates coherent rays of cameras that look at corners of boxes, a square of 144 for each: from far away, or from
/// another corner. They point into every octant. Some have a limit. With `has_odd`, some have no meaning, and some lie
/// in a plane of two axes.
pub fn beams(cameras: usize, boxes: &[Aabb], has_odd: bool) -> Vec<Ray> {
    let (low, high) = extent(boxes);
    let diagonal = length(std::array::from_fn(|k| high[k] - low[k])).max(1e-30);
    let corner = |i: usize| {
        let (from, to) = finite(&boxes[i * 37 % boxes.len()]).unwrap_or((low, high));
        if i.is_multiple_of(2) { from } else { to }
    };
    let ray = |i: usize| {
        let (camera, at) = (i / 144, corner(i / 144));
        let forward: [f64; 3] = std::array::from_fn(|k| [1.0, -1.0][camera >> k & 1] * [0.5, 0.7, 0.6][k]);
        let mut origin: [f64; 3] = std::array::from_fn(|k| at[k] - 1.2 * diagonal * forward[k]);
        if camera % 3 == 2 {
            origin = corner(camera + 1);
        }
        let aside = [i % 12, i % 144 / 12, i % 12].map(|x| 0.003 * (x as f64 - 6.0));
        let reach = length(std::array::from_fn(|k| at[k] - origin[k])).max(1e-3 * diagonal);
        let to: [f64; 3] = std::array::from_fn(|k| at[k] - origin[k] + reach * aside[k]);
        let mut ray = Ray::new(origin.map(|x| x as f32), to.map(|x| x as f32));
        match i % 101 {
            7 => ray.limit = 1.0,
            23 if has_odd => ray.origin[1] = f32::NAN,
            31 if has_odd => ray.direction[i % 3] = 0.0,
            _ => {}
        }
        ray
    };
    (0..144 * cameras).map(ray).collect()
}

/// Returns the bounds of the finite boxes of a scene, or a unit cube.
fn extent(boxes: &[Aabb]) -> ([f64; 3], [f64; 3]) {
    let empty = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let (low, high) = boxes.iter().filter_map(finite).fold(empty, |(low, high), own| {
        (std::array::from_fn(|k| low[k].min(own.0[k])), std::array::from_fn(|k| high[k].max(own.1[k])))
    });
    if low[0] <= high[0] { (low, high) } else { ([0.0; 3], [1.0; 3]) }
}

fn finite(aabb: &Aabb) -> Option<([f64; 3], [f64; 3])> {
    let is_finite = aabb.is_valid() && aabb.min.iter().chain(&aabb.max).all(|x| x.abs() < 1e30);
    is_finite.then(|| (aabb.min.map(f64::from), aabb.max.map(f64::from)))
}

fn within(low: [f64; 3], high: [f64; 3], at: [f64; 3]) -> [f32; 3] {
    std::array::from_fn(|k| (low[k] + (high[k] - low[k]) * at[k]) as f32)
}

fn length([x, y, z]: [f64; 3]) -> f64 {
    (x * x + y * y + z * z).sqrt()
}

/// Creates the rays of a camera that stands obliquely above the scene.
fn camera(count: usize, low: [f64; 3], high: [f64; 3]) -> Vec<Ray> {
    let side = (count as f64).sqrt().ceil().max(1.0) as usize;
    let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (low[k] + high[k]));
    let diagonal = length(std::array::from_fn(|k| high[k] - low[k])).max(1e-30);
    let unit = |v: [f64; 3]| v.map(|x| x / length(v));
    let forward = unit([-0.62, 0.70, -0.35]);
    let right = unit([forward[1], -forward[0], 0.0]);
    let up: [f64; 3] = std::array::from_fn(|k| {
        let (a, b) = ((k + 1) % 3, (k + 2) % 3);
        right[a] * forward[b] - right[b] * forward[a]
    });
    let origin: [f64; 3] = std::array::from_fn(|k| middle[k] - 1.2 * diagonal * forward[k]);
    let ray = |i: usize| {
        let [u, v] = [i % side, i / side].map(|x| (x as f64 + 0.5) / side as f64 - 0.5);
        let to: [f64; 3] = std::array::from_fn(|k| forward[k] + 0.9 * (u * right[k] - v * up[k]));
        Ray::new(origin.map(|x| x as f32), to.map(|x| x as f32))
    };
    (0..count).map(ray).collect()
}
