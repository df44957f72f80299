//! Draws a scene after some steps, with Avian's ray casts:
//! `cargo run --release --example draw -- pyramid 75 picture.png`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use avian3d::prelude::*;
use bevy::ecs::system::RunSystemOnce;
use bevy::prelude::*;
use broadsweep_avian::scenes::{Scene, Size};
use broadsweep_avian::simulation::{Engine, Simulation};
use rayon::prelude::*;

const WIDTH: usize = 1200;
const HEIGHT: usize = 620;
/// The rays of a pixel, along each axis.
const SAMPLES: usize = 2;
const SKY: Vec3 = Vec3::new(0.93, 0.95, 0.98);

struct Camera {
    eye: Vec3,
    target: Vec3,
}

impl Camera {
    fn of(scene: Scene) -> Self {
        let (eye, target) = match scene {
            Scene::Falling => (Vec3::new(45.0, 38.0, 60.0), Vec3::new(0.0, 8.0, 0.0)),
            Scene::Pyramid => (Vec3::new(-46.0, 24.0, 50.0), Vec3::new(0.0, 8.0, 0.0)),
            Scene::Level => (Vec3::new(250.0, 60.0, 250.0), Vec3::new(316.0, 0.0, 316.0)),
            Scene::Ragdolls => (Vec3::new(-13.0, 15.0, 31.0), Vec3::new(9.5, 2.5, 13.0)),
        };
        Self { eye, target }
    }

    /// Returns the direction through a point of the picture, in pixels.
    fn direction(&self, x: f32, y: f32) -> Vec3 {
        let ahead = (self.target - self.eye).normalize();
        let right = ahead.cross(Vec3::Y).normalize();
        let up = right.cross(ahead);
        let (width, height) = (WIDTH as f32, HEIGHT as f32);
        (ahead + 0.8 * (right * (x - width / 2.0) - up * (y - height / 2.0)) / width).normalize()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, steps, path] = arguments.as_slice() else { return Err("SCENE STEPS PICTURE.png".into()) };
    let scene = Scene::ALL.into_iter().find(|scene| scene.name() == name).ok_or("no such scene")?;
    let mut simulation = Simulation::new(Engine::Broadsweep, scene, Size::Full);
    for _ in 0..steps.parse()? {
        simulation.step();
    }
    let camera = Camera::of(scene);
    let draw = move |spatial: SpatialQuery, bodies: Query<&RigidBody>, sensors: Query<Entity, With<Sensor>>| {
        let filter = SpatialQueryFilter::from_excluded_entities(sensors);
        let is_static =
            |entity| bodies.get(entity).is_ok_and(|body| *body == RigidBody::Static) || bodies.get(entity).is_err();
        let color = |x: f32, y: f32| color_of(&spatial, &filter, &is_static, camera.eye, camera.direction(x, y));
        let rows = (0..HEIGHT).into_par_iter().flat_map_iter(|y| (0..WIDTH).map(move |x| (x, y)));
        rows.flat_map_iter(|(x, y)| {
            let steps =
                (0..SAMPLES * SAMPLES).map(|i| [i % SAMPLES, i / SAMPLES].map(|k| (k as f32 + 0.5) / SAMPLES as f32));
            let sum: Vec3 = steps.map(|[i, j]| color(x as f32 + i, y as f32 + j)).sum();
            (255.0 * sum / (SAMPLES * SAMPLES) as f32).to_array().map(|part| part as u8)
        })
        .collect::<Vec<u8>>()
    };
    let pixels = simulation.app.world_mut().run_system_once(draw).map_err(|error| error.to_string())?;
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), WIDTH as u32, HEIGHT as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header()?.write_image_data(&pixels)?;
    println!("{path}: {} after {steps} steps, {} pairs", scene.name(), simulation.pair_count());
    Ok(())
}

/// Returns the colour that is seen in a direction: static bodies are grey, others have a colour by their index.
fn color_of(
    spatial: &SpatialQuery,
    filter: &SpatialQueryFilter,
    is_static: &impl Fn(Entity) -> bool,
    eye: Vec3,
    direction: Vec3,
) -> Vec3 {
    let cast = |from: Vec3, along: Vec3| spatial.cast_ray(from, Dir3::new(along).ok()?, 500.0, true, filter);
    let Some(hit) = cast(eye, direction) else { return SKY };
    let sun = Vec3::new(-0.5, 0.9, 0.35).normalize();
    let lit = hit.normal.dot(sun).max(0.0);
    let from = eye + direction * hit.distance + hit.normal * 0.01;
    let light = if lit > 0.0 && cast(from, sun).is_none() { 0.35 + 0.65 * lit } else { 0.35 };
    let turn = hit.entity.index_u32() as f32 * 2.4;
    let hue = Vec3::new(turn.cos(), (turn - 2.1).cos(), (turn + 2.1).cos());
    let color = if is_static(hit.entity) { Vec3::splat(0.72) } else { Vec3::splat(0.62) + 0.33 * hue };
    let haze = (hit.distance / 400.0).min(1.0);
    (color * light).lerp(SKY, haze)
}
