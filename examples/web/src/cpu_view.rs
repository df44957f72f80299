//! A scene on the CPU engine, drawn on a canvas without WebGPU.

use broadsweep::{Aabb, Options, PairOrder, cpu};
use broadsweep_viewer::camera::Camera;
use broadsweep_viewer::overlay::grouped;
use broadsweep_viewer::scene::{Kind, Scene};
use glam::{Vec2, Vec3, Vec4};
use wasm_bindgen::prelude::*;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::{js_error, now};

/// Frames for which a box flashes after a pair was created.
const FLASH: u32 = 20;

/// A scene of clusters, on one thread.
#[wasm_bindgen]
pub struct CpuView {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    scene: Scene,
    camera: Camera,
    engine: cpu::BroadPhase,
    boxes: Vec<Aabb>,
    /// For each box, the count of boxes that it touches, and the last frame in which a pair was created.
    touched: Vec<u32>,
    begun: Vec<u32>,
    time: f32,
    frame: u32,
    /// Milliseconds of a search, smoothed.
    search: f64,
    pair_count: usize,
}

#[wasm_bindgen]
impl CpuView {
    /// Prepares a scene of about this many boxes for a canvas.
    ///
    /// # Errors
    /// The reason why the scene cannot be drawn.
    #[wasm_bindgen(constructor)]
    pub fn new(canvas: HtmlCanvasElement, box_count: u32) -> Result<Self, JsValue> {
        let context = canvas.get_context("2d")?.ok_or_else(|| js_error("the canvas is in use"))?.dyn_into()?;
        let scene = Scene::new(Kind::Clusters, box_count, &[]);
        let options = Options::default().with_order(PairOrder::Canonical);
        let engine = cpu::BroadPhase::new(options).map_err(|error| js_error(&error.to_string()))?;
        let n = scene.bodies.len();
        Ok(Self {
            canvas,
            context,
            camera: scene.look.into(),
            scene,
            engine,
            boxes: Vec::new(),
            touched: vec![0; n],
            begun: vec![0; n],
            time: 0.0,
            frame: 0,
            search: 0.0,
            pair_count: 0,
        })
    }

    /// Moves the boxes by these seconds, finds their pairs, and draws them.
    ///
    /// # Errors
    /// Errors of the search.
    pub fn frame(&mut self, seconds: f32) -> Result<(), JsValue> {
        self.time += seconds.clamp(0.0, 0.1);
        self.frame += 1;
        self.move_bodies();
        let start = now();
        let events = self.engine.find_events(&self.boxes).map_err(|error| js_error(&error.to_string()))?;
        let taken = now() - start;
        self.touched.fill(0);
        for pair in &events.pairs {
            self.touched[pair.a as usize] += 1;
            self.touched[pair.b as usize] += 1;
        }
        // All pairs of the first frame are new, and do not flash.
        for pair in events.created.iter().filter(|_| self.frame > 1) {
            self.begun[pair.a as usize] = self.frame;
            self.begun[pair.b as usize] = self.frame;
        }
        self.pair_count = events.pairs.len();
        self.search = if self.search == 0.0 { taken } else { self.search + 0.1 * (taken - self.search) };
        self.draw();
        Ok(())
    }

    /// Turns the camera by a part of the picture.
    pub fn turn(&mut self, x: f32, y: f32) {
        self.camera.turn(3.0 * Vec2::new(x, y));
    }

    /// Multiplies the distance of the camera.
    pub fn zoom(&mut self, factor: f32) {
        self.camera.zoom(factor);
    }

    /// Returns the counts and the time of a search as text.
    pub fn status(&self) -> String {
        let (boxes, pairs) = (grouped(self.boxes.len() as u64), grouped(self.pair_count as u64));
        format!("{boxes} boxes, {pairs} pairs, found by the CPU engine in {:.2} ms", self.search)
    }
}

impl CpuView {
    /// Turns each body about the middle of its cluster, as `circle` in the viewer's `move.wgsl` does.
    fn move_bodies(&mut self) {
        let Self { scene, boxes, time, .. } = self;
        boxes.clear();
        boxes.extend(scene.bodies.iter().map(|body| {
            let [x, y, z, speed] = scene.clusters[body.group as usize];
            let t = *time * speed;
            let turned = Vec3::new((t + x).sin(), (1.3 * t + y).sin(), 0.6 * (0.9 * t + z).sin());
            let middle = 0.35 * Vec3::new(x, y, z) + 0.65 * scene.extent * turned;
            let (s, c) = (*time * body.phase).sin_cos();
            let [x, y, z] = body.home;
            let (center, half) = (middle + Vec3::new(c * x - s * y, s * x + c * y, z), Vec3::from(body.half));
            Aabb::new((center - half).to_array(), (center + half).to_array())
        }));
    }

    /// Draws the three visible faces of each box, the furthest box first.
    fn draw(&self) {
        let (width, height) = (f64::from(self.canvas.width()), f64::from(self.canvas.height()));
        let clip = self.camera.clip_from_world((width / height.max(1.0)) as f32);
        let eye = self.camera.eye();
        self.context.set_fill_style_str("#0b0c10");
        self.context.fill_rect(0.0, 0.0, width, height);
        let middle = |aabb: &Aabb| 0.5 * (Vec3::from(aabb.min) + Vec3::from(aabb.max));
        let mut order: Vec<(f32, usize)> =
            self.boxes.iter().enumerate().map(|(i, aabb)| (middle(aabb).distance_squared(eye), i)).collect();
        order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        for (_, i) in order {
            let corners = [Vec3::from(self.boxes[i].min), Vec3::from(self.boxes[i].max)];
            for axis in 0..3 {
                let is_high = eye[axis] > 0.5 * (corners[0][axis] + corners[1][axis]);
                let (next, other) = ((axis + 1) % 3, (axis + 2) % 3);
                let at = |u: usize, v: usize| {
                    let mut at = Vec3::ZERO;
                    at[axis] = corners[usize::from(is_high)][axis];
                    (at[next], at[other]) = (corners[u][next], corners[v][other]);
                    clip * at.extend(1.0)
                };
                let light = [0.66, 0.82, if is_high { 1.0 } else { 0.4 }][axis];
                self.fill([at(0, 0), at(1, 0), at(1, 1), at(0, 1)], light * self.color(i), [width, height]);
            }
        }
    }

    /// Returns the colour of a box: warmer for more pairs, brighter after a new pair.
    fn color(&self, i: usize) -> Vec3 {
        let (cold, some, many) =
            (Vec3::new(0.25, 0.36, 0.55), Vec3::new(0.16, 0.62, 0.62), Vec3::new(0.98, 0.55, 0.12));
        let color = match self.touched[i] {
            0 => cold,
            touched => some.lerp(many, 1.0 - (-0.35 * touched as f32).exp2()),
        };
        let age = self.frame - self.begun[i];
        let flash = if self.begun[i] > 0 && age < FLASH { 1.0 - age as f32 / FLASH as f32 } else { 0.0 };
        color.lerp(Vec3::new(1.0, 0.95, 0.75), 0.8 * flash)
    }

    /// Fills a face, unless a corner is behind the camera.
    fn fill(&self, face: [Vec4; 4], color: Vec3, [width, height]: [f64; 2]) {
        if face.iter().any(|corner| corner.w <= 0.0) {
            return;
        }
        let [red, green, blue] = (255.0 * color).to_array().map(|part| part as u8);
        self.context.set_fill_style_str(&format!("rgb({red},{green},{blue})"));
        self.context.begin_path();
        for (number, corner) in face.iter().enumerate() {
            let (x, y) = (f64::from(corner.x / corner.w), f64::from(corner.y / corner.w));
            let (x, y) = (0.5 * (x + 1.0) * width, 0.5 * (1.0 - y) * height);
            if number == 0 { self.context.move_to(x, y) } else { self.context.line_to(x, y) }
        }
        self.context.fill();
    }
}
