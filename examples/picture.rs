//! A scene seen by rays, one for each pixel: `cargo run --release --example picture -- [KIND:N] [SIDE] [FILE.png]`
//!
//! The tree is on the GPU where there is a real one, and else on all cores of the CPU. Both give the same picture, to the byte.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;

use broadsweep::{Aabb, Gpu, Hit, QueryEngine, Ray, Tree, cpu, wgpu};
use laboratory::scenes::SceneName;
use laboratory::scenes::queries::RayKind;

/// Colours from near to far.
const COLOURS: [[f32; 3]; 5] =
    [[253.0, 231.0, 37.0], [94.0, 201.0, 98.0], [33.0, 145.0, 140.0], [59.0, 82.0, 139.0], [68.0, 1.0, 84.0]];
/// Where a ray hits nothing.
const SKY: [u8; 3] = [250, 250, 252];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let scene: SceneName = arguments.next().unwrap_or("city:20000".to_owned()).parse()?;
    let side: u32 = arguments.next().map_or(Ok(640), |side| side.parse())?;
    let path = arguments.next().unwrap_or("picture.png".to_owned());

    let boxes = scene.boxes(1)?;
    let rays = RayKind::Camera.generate(side as usize * side as usize, 1, &boxes);
    let is_real = |gpu: &Gpu| gpu.adapter_info().device_type != wgpu::DeviceType::Cpu;
    let hits = match Gpu::headless().ok().filter(is_real) {
        Some(gpu) => look(Tree::new(&gpu)?, &boxes, &rays)?,
        None => look(cpu::Tree::new(), &boxes, &rays)?,
    };

    let seen = || hits.iter().filter(|hit| hit.is_hit()).map(|hit| hit.t);
    let (near, far) = (seen().fold(f32::INFINITY, f32::min), seen().fold(0.0, f32::max));
    let pixels: Vec<u8> = hits.iter().flat_map(|hit| colour(hit, near, far)).collect();
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(&path)?), side, side);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header()?.write_image_data(&pixels)?;
    println!("{path}: {side} by {side} pixels");
    Ok(())
}

/// Builds the tree and finds what each ray hits first.
fn look(mut tree: impl QueryEngine, boxes: &[Aabb], rays: &[Ray]) -> Result<Vec<Hit>, broadsweep::Error> {
    let start = Instant::now();
    tree.build(boxes)?;
    let hits = tree.nearest_hits(rays)?;
    println!("{} rays among {} boxes in {:?}", rays.len(), boxes.len(), start.elapsed());
    Ok(hits.answers)
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
