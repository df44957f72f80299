//! What there is to look at: where boxes start, how they move, and which of them may pair.

use broadsweep::{Aabb, Filters};
use bytemuck::{Pod, Zeroable};
use fastrand::Rng;
use glam::Vec3;

/// A body as the shaders have it: `Body` in `shaders/globals.wgsl`. What the fields mean depends on its motion.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Body {
    /// Where it starts, or what it moves about.
    pub home: [f32; 3],
    /// Where in its motion it starts.
    pub phase: f32,
    /// Half of its edges.
    pub half: [f32; 3],
    /// One of [`motion`].
    pub motion: u32,
    /// Where its centre is. The shaders move it.
    pub position: [f32; 3],
    /// Its cluster, street or world.
    pub group: u32,
    /// How fast it is.
    pub velocity: [f32; 3],
    /// Which part of a robot it is, or along which axis it drives.
    pub part: u32,
}

/// How a body moves: the constants of the same names in `shaders/globals.wgsl`.
pub mod motion {
    /// Not at all.
    pub const FIXED: u32 = 0;
    /// It falls, and is pushed out of what it touches.
    pub const FALLING: u32 = 1;
    /// Around the middle of its cluster, which itself moves.
    pub const CIRCLING: u32 = 2;
    /// Along a street.
    pub const DRIVING: u32 = 3;
    /// As the part of a robot.
    pub const WALKING: u32 = 4;
    /// As a wave goes through a mesh.
    pub const WAVING: u32 = 5;
}

/// Which scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Boxes that fall and pile up.
    Pile,
    /// Clusters that move through each other.
    Clusters,
    /// Streets with cars, between buildings on a ground plate.
    City,
    /// Robots, each in a world of its own, on ground that all have in common.
    Robots,
    /// The boxes of a file.
    Mesh,
}

impl Kind {
    /// All of them, with their names.
    pub const NAMED: [(&str, Self); 5] = [
        ("pile", Self::Pile),
        ("clusters", Self::Clusters),
        ("city", Self::City),
        ("robots", Self::Robots),
        ("mesh", Self::Mesh),
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// Where to look from at first.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// What is in the middle of the picture.
    pub target: Vec3,
    /// How far away that is.
    pub distance: f32,
    /// How far up one stands: an angle, in radians.
    pub pitch: f32,
}

/// Bodies and what they are to each other.
pub struct Scene {
    /// What moves.
    pub bodies: Vec<Body>,
    /// Which of them may pair.
    pub filters: Filters,
    /// Of each cluster its middle, and how fast it moves about that.
    pub clusters: Vec<[f32; 4]>,
    /// Half of the edge of the part of space in which bodies stay.
    pub extent: f32,
    /// Worlds in a row, where each is drawn in a place of its own; 0 where all are drawn where they are.
    pub columns: u32,
    /// From one world to the next, as drawn.
    pub spacing: f32,
    /// Pairs that are to be expected for each box.
    pub pairs_per_box: u32,
    /// Where to look from.
    pub look: Look,
}

/// The parts of a robot: a body, a head, four legs of three, an arm of eight, a tail of two.
const PARTS: u32 = 24;
/// Of each part, the one that it hangs on.
const PARENTS: [Option<u32>; PARTS as usize] = [
    None,
    Some(0),
    Some(0),
    Some(2),
    Some(3),
    Some(0),
    Some(5),
    Some(6),
    Some(0),
    Some(8),
    Some(9),
    Some(0),
    Some(11),
    Some(12),
    Some(0),
    Some(14),
    Some(15),
    Some(16),
    Some(17),
    Some(18),
    Some(19),
    Some(19),
    Some(0),
    Some(22),
];

impl Scene {
    /// Creates a scene of about `box_count` boxes. `mesh` has those of [`Kind::Mesh`], which are as many as they are.
    pub fn new(kind: Kind, box_count: u32, mesh: &[Aabb]) -> Self {
        let count = box_count.max(2);
        match kind {
            Kind::Pile => pile(count),
            Kind::Clusters => clusters(count),
            Kind::City => city(count),
            Kind::Robots => robots(count),
            Kind::Mesh => waving(mesh),
        }
    }

    /// Counts the boxes.
    pub fn box_count(&self) -> u32 {
        self.bodies.len() as u32
    }

    /// Counts the worlds in which a ray is to be followed.
    pub fn world_count(&self) -> u32 {
        if self.columns == 0 { 1 } else { (self.box_count() - 1) / PARTS }
    }
}

fn resting(center: Vec3, half: Vec3) -> Body {
    let (center, half) = (center.to_array(), half.to_array());
    Body {
        home: center,
        phase: 0.0,
        half,
        motion: motion::FIXED,
        position: center,
        group: 0,
        velocity: [0.0; 3],
        part: 0,
    }
}

/// Returns a number of this interval.
fn between(rng: &mut Rng, low: f32, high: f32) -> f32 {
    low + (high - low) * rng.f32()
}

/// Returns filters by which what is fixed does not pair with itself.
fn of_fixed(bodies: &[Body]) -> Filters {
    Filters::default().with_fixed(bodies.iter().map(|body| body.motion == motion::FIXED).collect())
}

/// Boxes in the air above a floor, in a well without walls that one could see.
fn pile(count: u32) -> Scene {
    let mut rng = Rng::with_seed(1);
    const SPACING: f32 = 0.85;
    // Wide enough that they lie some fifteen high.
    let across = ((count as f32 / 15.0).sqrt().ceil() as u32).max(2);
    let extent = 0.5 * across as f32 * SPACING;
    let mut bodies = vec![resting(Vec3::new(0.0, 0.0, -0.5), Vec3::new(extent + 1.0, extent + 1.0, 0.5))];
    for i in 0..count - 1 {
        let (x, y, layer) = (i % across, i / across % across, i / (across * across));
        let jitter =
            Vec3::new(between(&mut rng, -0.2, 0.2), between(&mut rng, -0.2, 0.2), between(&mut rng, -0.2, 0.2));
        let at = Vec3::new((x as f32 + 0.5) * SPACING - extent, (y as f32 + 0.5) * SPACING - extent, 0.0) + jitter;
        // The middle starts higher, so that it comes down as a heap.
        let high = 4.0 * (1.0 - at.truncate().length() / (1.5 * extent)).max(0.0);
        let at = at + Vec3::Z * (1.0 + 1.2 * layer as f32 + high);
        let half = Vec3::new(between(&mut rng, 0.2, 0.5), between(&mut rng, 0.2, 0.5), between(&mut rng, 0.2, 0.5));
        bodies.push(Body { motion: motion::FALLING, ..resting(at, half) });
    }
    let look = Look { target: Vec3::Z * 5.0, distance: 2.6 * extent + 12.0, pitch: 0.5 };
    let filters = of_fixed(&bodies);
    Scene { filters, extent, pairs_per_box: 8, look, ..plain(bodies) }
}

fn clusters(count: u32) -> Scene {
    let mut rng = Rng::with_seed(2);
    let cluster_count = (count / 250).clamp(4, 64);
    let edge = 0.6;
    // As dense that a box has some four pairs, whatever their number.
    let spread = edge * (0.045 * count as f32 / cluster_count as f32).cbrt();
    let extent = 2.2 * spread * (cluster_count as f32).cbrt();
    let clusters: Vec<[f32; 4]> = (0..cluster_count)
        .map(|_| {
            let at = |rng: &mut Rng| between(rng, -extent, extent);
            [at(&mut rng), at(&mut rng), 0.6 * at(&mut rng), between(&mut rng, 0.1, 0.4)]
        })
        .collect();
    // The sum of three even numbers is nearly normal.
    let normal = |rng: &mut Rng| 2.0 * (rng.f32() + rng.f32() + rng.f32() - 1.5);
    let bodies = (0..count)
        .map(|i| {
            let at = spread * Vec3::new(normal(&mut rng), normal(&mut rng), normal(&mut rng));
            let half = Vec3::splat(0.5 * edge) * between(&mut rng, 0.6, 1.4);
            let (motion, group) = (motion::CIRCLING, i % cluster_count);
            Body { motion, group, phase: between(&mut rng, -0.5, 0.5), ..resting(at, half) }
        })
        .collect();
    let look = Look { target: Vec3::ZERO, distance: 3.2 * extent, pitch: 0.4 };
    Scene { clusters, extent, pairs_per_box: 12, look, ..plain(bodies) }
}

fn city(count: u32) -> Scene {
    let mut rng = Rng::with_seed(3);
    const BLOCK: f32 = 20.0;
    const STREET: f32 = 8.0;
    let across = ((0.3 * count as f32).sqrt().ceil() as u32).max(1);
    let extent = 0.5 * BLOCK * across as f32;
    let mut bodies = vec![resting(Vec3::new(0.0, 0.0, -1.0), Vec3::new(extent, extent, 1.0))];
    let middle = |i: u32| (i as f32 + 0.5) * BLOCK - extent;
    for i in 0..(across * across).min(count - 1) {
        let center = Vec3::new(middle(i % across), middle(i / across), 0.0);
        // Higher towards the middle of the town.
        let tall = 3.0 + 45.0 * (-3.0 * center.truncate().length() / extent).exp() * rng.f32() + 9.0 * rng.f32();
        let width = 0.5 * (BLOCK - STREET);
        let half = Vec3::new(between(&mut rng, 0.6, 1.0) * width, between(&mut rng, 0.6, 1.0) * width, 0.5 * tall);
        bodies.push(resting(center + Vec3::Z * half.z, half));
    }
    while bodies.len() < count as usize {
        let axis = rng.u32(0..2);
        let half = if rng.f32() < 0.1 { Vec3::new(6.0, 1.3, 1.7) } else { Vec3::new(2.2, 0.9, 0.75) };
        // Two lanes each way; some fly.
        let lane = rng.u32(0..4) as f32 - 1.5;
        let street = rng.u32(0..across) as f32 * BLOCK - extent + 1.8 * lane;
        let height = if rng.f32() < 0.2 { between(&mut rng, 8.0, 40.0) } else { 0.0 };
        let along = between(&mut rng, -extent, extent);
        let speed = between(&mut rng, 4.0, 16.0) * lane.signum() * if axis == 0 { 1.0 } else { -1.0 };
        let (at, half) = match axis {
            0 => (Vec3::new(along, street, height + half.z), half),
            _ => (Vec3::new(street, along, height + half.z), Vec3::new(half.y, half.x, half.z)),
        };
        let velocity = if axis == 0 { [speed, 0.0, 0.0] } else { [0.0, speed, 0.0] };
        bodies.push(Body { motion: motion::DRIVING, part: axis, velocity, ..resting(at, half) });
    }
    let look = Look { target: Vec3::Z * 4.0, distance: (1.6 * extent).min(260.0), pitch: 0.5 };
    let filters = of_fixed(&bodies);
    Scene { filters, extent, pairs_per_box: 4, look, ..plain(bodies) }
}

fn robots(count: u32) -> Scene {
    let mut rng = Rng::with_seed(4);
    let worlds = (count / PARTS).max(1);
    let columns = (worlds as f32).sqrt().ceil() as u32;
    let spacing = 2.2;
    let extent = 0.5 * columns as f32 * spacing;
    let mut filters = Filters::default();
    let mut bodies = Vec::with_capacity((worlds * PARTS + 1) as usize);
    for world in 0..worlds {
        // Each goes its own way, so that each has pairs of its own.
        let phase = between(&mut rng, 0.0, 60.0);
        for part in 0..PARTS {
            let thick = if part == 0 { 0.09 } else { 0.05 };
            let body = resting(Vec3::Z * 0.5, Vec3::splat(thick));
            bodies.push(Body { motion: motion::WALKING, group: world, phase, part, ..body });
            filters.world.push(world);
            filters.body.push(world * PARTS + part);
            let parent = PARENTS[part as usize].map_or(Filters::NO_PARENT, |parent| world * PARTS + parent);
            filters.parent.push(parent);
        }
    }
    // Below all of them: large enough to be seen under each.
    bodies.push(Body { group: Filters::GLOBAL, ..resting(Vec3::Z * -0.5, Vec3::new(extent, extent, 0.5)) });
    filters.world.push(Filters::GLOBAL);
    filters.body.push(worlds * PARTS);
    filters.parent.push(Filters::NO_PARENT);
    let look = Look { target: Vec3::Z * 0.5, distance: (1.2 * extent).clamp(4.0, 22.0), pitch: 0.45 };
    Scene { filters, extent, columns, spacing, pairs_per_box: 3, look, ..plain(bodies) }
}

fn waving(mesh: &[Aabb]) -> Scene {
    let valid = || mesh.iter().filter(|aabb| aabb.min.iter().chain(&aabb.max).all(|x| x.is_finite()));
    let low = valid().fold(Vec3::INFINITY, |low, aabb| low.min(Vec3::from(aabb.min)));
    let high = valid().fold(Vec3::NEG_INFINITY, |high, aabb| high.max(Vec3::from(aabb.max)));
    let (low, high) = if low.cmple(high).all() { (low, high) } else { (Vec3::ZERO, Vec3::ONE) };
    let middle = 0.5 * (low + high);
    // The shaders know lengths of this size.
    let longest = (high - low).max_element();
    let scale = if longest > 0.0 { (20.0 / longest).min(f32::MAX) } else { 1.0 };
    let bodies = mesh
        .iter()
        .map(|aabb| {
            let (min, max) = (Vec3::from(aabb.min), Vec3::from(aabb.max));
            let (at, half) = (scale * (0.5 * min + 0.5 * max - middle), 0.5 * scale * (max - min));
            // What is endless is as large as can be drawn. A box with a NaN is none, and stays none.
            let (at, half) = match min.is_nan() || max.is_nan() {
                true => (at, Vec3::NAN),
                false if at.is_finite() && half.is_finite() => (at, half.min(Vec3::splat(1e4))),
                false => (Vec3::ZERO, Vec3::splat(1e4)),
            };
            Body { motion: motion::WAVING, ..resting(at, half) }
        })
        .collect();
    let look = Look { target: Vec3::ZERO, distance: 24.0, pitch: 0.4 };
    Scene { extent: 12.0, pairs_per_box: 64, look, ..plain(bodies) }
}

/// Returns bodies that may all pair, and are drawn where they are.
fn plain(bodies: Vec<Body>) -> Scene {
    Scene {
        bodies,
        filters: Filters::default(),
        clusters: vec![[0.0; 4]],
        extent: 1.0,
        columns: 0,
        spacing: 0.0,
        pairs_per_box: 4,
        look: Look { target: Vec3::ZERO, distance: 1.0, pitch: 0.0 },
    }
}
