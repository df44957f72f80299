//! Renders 20,000 boxes with one ray for each pixel. The colour is the distance to the nearest hit.
//!
//! `cargo run --release --example picture [BOXES] [SIDE] [FILE.png]`
//!
//! The tree is the one that suits the machine. On a GPU and on a CPU the picture is the same, to the byte.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;

use broadsweep::{Aabb, AnyTree, Hit, QueryEngine, Ray};
use glam::Vec3;

/// Colours from near to far.
const COLOURS: [[f32; 3]; 5] =
    [[253.0, 231.0, 37.0], [94.0, 201.0, 98.0], [33.0, 145.0, 140.0], [59.0, 82.0, 139.0], [68.0, 1.0, 84.0]];
/// The colour of rays that hit nothing.
const SKY: [u8; 3] = [250, 250, 252];
/// Metres from one tower to the next.
const PITCH: f32 = 30.0;

/// Returns a number from 0 to 1 that looks random.
fn unit(seed: u32) -> f32 {
    let mixed = seed.wrapping_mul(0x9E37_79B9);
    ((mixed ^ mixed >> 15).wrapping_mul(0x85EB_CA6B) >> 16) as f32 / 65536.0
}

/// Creates the ground, and towers on a square grid: mostly low, some high.
fn city(count: u32) -> Vec<Aabb> {
    let side = f64::from(count).sqrt().ceil() as u32;
    let half = 0.5 * PITCH * side as f32;
    let tower = |i: u32| {
        let [x, y] = [i % side, i / side].map(|place| PITCH * place as f32 - half + 3.0);
        let [width, depth] = [unit(3 * i), unit(3 * i + 1)].map(|share| 8.0 + 16.0 * share);
        Aabb::new([x, y, 0.0], [x + width, y + depth, 10.0 + 400.0 * unit(3 * i + 2).powi(12)])
    };
    let ground = Aabb::new([-half, -half, -1.0], [half, half, 0.0]);
    [ground].into_iter().chain((1..count).map(tower)).collect()
}

/// Creates the rays of a camera that looks at the middle of the city, row by row.
fn camera(side: u32, half: f32) -> Vec<Ray> {
    let forward = Vec3::new(-0.62, 0.70, -0.40).normalize();
    let right = forward.cross(Vec3::Z).normalize();
    let up = right.cross(forward);
    let eye = -2.9 * half * forward;
    let ray = |i: u32| {
        let [u, v] = [i % side, i / side].map(|pixel| (pixel as f32 + 0.5) / side as f32 - 0.5);
        Ray::new(eye, forward + u * right - v * up)
    };
    (0..side * side).map(ray).collect()
}

/// Returns the colour of a distance, on a scale from the nearest to the farthest one.
fn colour(hit: &Hit, near: f32, far: f32) -> [u8; 3] {
    if !hit.is_hit() {
        return SKY;
    }
    let last = COLOURS.len() - 1;
    let at = if far > near { (hit.t - near) / (far - near) * last as f32 } else { 0.0 };
    let first = (at as usize).min(last - 1);
    let share = at - first as f32;
    std::array::from_fn(|k| (COLOURS[first][k] * (1.0 - share) + COLOURS[first + 1][k] * share) as u8)
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(20_000), |count| count.parse())?;
    let side: u32 = arguments.next().map_or(Ok(640), |side| side.parse())?;
    let path = arguments.next().unwrap_or("picture.png".to_owned());

    let boxes = city(count);
    let rays = camera(side, boxes[0].max[0]);
    let mut tree = AnyTree::auto()?;
    let start = Instant::now();
    tree.build(&boxes)?;
    let hits = tree.nearest_hits(&rays)?;
    let engine = if tree.is_gpu() { "GPU" } else { "CPU" };
    println!("{} rays among {count} boxes on the {engine} in {:.1?}", rays.len(), start.elapsed());

    let distances = || hits.iter().filter(|hit| hit.is_hit()).map(|hit| hit.t);
    let (near, far) = (distances().fold(f32::INFINITY, f32::min), distances().fold(0.0, f32::max));
    let pixels: Vec<u8> = hits.iter().flat_map(|hit| colour(hit, near, far)).collect();
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(&path)?), side, side);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header()?.write_image_data(&pixels)?;
    println!("{path}: {side} by {side} pixels");
    Ok(())
}
