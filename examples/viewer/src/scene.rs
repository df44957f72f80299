//! Scenes: bodies, their motions, and filters.

use broadsweep::{Aabb, Filters};
use bytemuck::{Pod, Zeroable};
use fastrand::Rng;
use glam::Vec3;

/// The twin of `Body` in `shaders/globals.wgsl`. Each motion uses the fields in its own way.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Body {
    /// The initial centre, or the centre of the motion.
    pub home: [f32; 3],
    /// The phase of the motion at the start.
    pub phase: f32,
    /// Half of the edges.
    pub half: [f32; 3],
    /// One of [`motion`].
    pub motion: u32,
    /// The centre. The shaders move it.
    pub position: [f32; 3],
    /// The cluster, street or world.
    pub group: u32,
    /// Units per second.
    pub velocity: [f32; 3],
    /// The part of a robot, or the axis along which the body drives.
    pub part: u32,
}

/// Motions of bodies: the constants of the same names in `shaders/globals.wgsl`.
pub mod motion {
    /// Does not move.
    pub const FIXED: u32 = 0;
    /// Falls, and is pushed out of boxes that it touches.
    pub const FALLING: u32 = 1;
    /// Circles around the centre of a moving cluster.
    pub const CIRCLING: u32 = 2;
    /// Drives along a street.
    pub const DRIVING: u32 = 3;
    /// Moves as a part of a walking robot.
    pub const WALKING: u32 = 4;
    /// Moves with a wave through the mesh.
    pub const WAVING: u32 = 5;
}

/// The kinds of scenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Boxes that fall and pile up.
    Pile,
    /// Clusters that move through each other.
    Clusters,
    /// Streets with cars, between buildings on a ground plate.
    City,
    /// Robots, each in its own world, on shared ground.
    Robots,
    /// The boxes of a file.
    Mesh,
}

impl Kind {
    /// All kinds, with their names.
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

/// The initial camera.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The point in the middle of the picture.
    pub target: Vec3,
    /// The distance of the camera from that point.
    pub distance: f32,
    /// The elevation of the camera, in radians.
    pub pitch: f32,
}

/// Bodies and their filters.
pub struct Scene {
    /// The bodies.
    pub bodies: Vec<Body>,
    /// The filters of the search.
    pub filters: Filters,
    /// The centre of each cluster, and the speed of its motion.
    pub clusters: Vec<[f32; 4]>,
    /// Half of the edge of the region in which bodies stay.
    pub extent: f32,
    /// Worlds per row, if worlds are drawn side by side; otherwise 0.
    pub columns: u32,
    /// The distance between neighbouring worlds in the picture.
    pub spacing: f32,
    /// Expected pairs per box.
    pub pairs_per_box: u32,
    /// The initial camera.
    pub look: Look,
}

/// The parts of a robot: a body, a head, four legs of three, an arm of eight, a tail of two.
const PARTS: u32 = 24;
/// The parent of each part.
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
    /// Creates a scene of about `box_count` boxes. [`Kind::Mesh`] has exactly the boxes of `mesh` instead.
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

    /// Counts the worlds that a ray visits.
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

/// Returns a random number of this interval.
fn between(rng: &mut Rng, low: f32, high: f32) -> f32 {
    low + (high - low) * rng.f32()
}

/// Returns filters that reject pairs of two fixed bodies.
fn of_fixed(bodies: &[Body]) -> Filters {
    Filters::default().with_fixed(bodies.iter().map(|body| body.motion == motion::FIXED).collect())
}

/// Boxes above a floor, within four invisible walls.
fn pile(count: u32) -> Scene {
    let mut rng = Rng::with_seed(1);
    const SPACING: f32 = 0.85;
    // About fifteen layers.
    let across = ((count as f32 / 15.0).sqrt().ceil() as u32).max(2);
    let extent = 0.5 * across as f32 * SPACING;
    let mut bodies = vec![resting(Vec3::new(0.0, 0.0, -0.5), Vec3::new(extent + 1.0, extent + 1.0, 0.5))];
    for i in 0..count - 1 {
        let (x, y, layer) = (i % across, i / across % across, i / (across * across));
        let jitter =
            Vec3::new(between(&mut rng, -0.2, 0.2), between(&mut rng, -0.2, 0.2), between(&mut rng, -0.2, 0.2));
        let at = Vec3::new((x as f32 + 0.5) * SPACING - extent, (y as f32 + 0.5) * SPACING - extent, 0.0) + jitter;
        // The middle starts higher, so that the boxes fall into a heap.
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
    // The density gives a box about four pairs, for any box count.
    let spread = edge * (0.045 * count as f32 / cluster_count as f32).cbrt();
    let extent = 2.2 * spread * (cluster_count as f32).cbrt();
    let clusters: Vec<[f32; 4]> = (0..cluster_count)
        .map(|_| {
            let at = |rng: &mut Rng| between(rng, -extent, extent);
            [at(&mut rng), at(&mut rng), 0.6 * at(&mut rng), between(&mut rng, 0.1, 0.4)]
        })
        .collect();
    // The sum of three uniform numbers is nearly normal.
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
        // Buildings are higher in the middle of the city.
        let tall = 3.0 + 45.0 * (-3.0 * center.truncate().length() / extent).exp() * rng.f32() + 9.0 * rng.f32();
        let width = 0.5 * (BLOCK - STREET);
        let half = Vec3::new(between(&mut rng, 0.6, 1.0) * width, between(&mut rng, 0.6, 1.0) * width, 0.5 * tall);
        bodies.push(resting(center + Vec3::Z * half.z, half));
    }
    while bodies.len() < count as usize {
        let axis = rng.u32(0..2);
        let half = if rng.f32() < 0.1 { Vec3::new(6.0, 1.3, 1.7) } else { Vec3::new(2.2, 0.9, 0.75) };
        // Two lanes in each direction. Some cars fly.
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
        // Each robot has another phase, and so other pairs.
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
    // The shared ground, large enough to be visible under each robot.
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
    // The shaders expect scenes of about this size.
    let longest = (high - low).max_element();
    let scale = if longest > 0.0 { (20.0 / longest).min(f32::MAX) } else { 1.0 };
    let bodies = mesh
        .iter()
        .map(|aabb| {
            let (min, max) = (Vec3::from(aabb.min), Vec3::from(aabb.max));
            let (at, half) = (scale * (0.5 * min + 0.5 * max - middle), 0.5 * scale * (max - min));
            // Unbounded boxes become as large as the shaders can draw. Boxes with a NaN stay invalid.
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

/// Creates a scene without filters and worlds.
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
