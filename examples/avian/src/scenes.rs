//! The scenes of the command line and of the tests.

use avian3d::prelude::*;
use bevy::prelude::*;

/// A scene, which [`spawn`](Scene::spawn) puts into a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// Boxes that fall onto the ground.
    Falling,
    /// A pyramid of boxes.
    Pyramid,
    /// A level of static colliders with bodies that move through it.
    Level,
    /// Ragdolls that fall onto stairs.
    Ragdolls,
}

/// The size of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 10,000 boxes that fall; a pyramid of 2,870; a level of 100,000 colliders with 1,000 movers; 400 ragdolls.
    Full,
    /// A few hundred colliders.
    Small,
}

impl Scene {
    /// All scenes.
    pub const ALL: [Self; 4] = [Self::Falling, Self::Pyramid, Self::Level, Self::Ragdolls];

    /// Returns the name of the scene in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Falling => "falling",
            Self::Pyramid => "pyramid",
            Self::Level => "level",
            Self::Ragdolls => "ragdolls",
        }
    }

    /// Spawns the bodies of the scene.
    pub fn spawn(self, size: Size, world: &mut World) {
        let is_small = size == Size::Small;
        match self {
            Self::Falling => falling(world, if is_small { [6, 8, 6] } else { [20, 25, 20] }),
            Self::Pyramid => pyramid(world, if is_small { 7 } else { 20 }),
            Self::Level => level(world, if is_small { 20 } else { 316 }, if is_small { 30 } else { 1000 }),
            Self::Ragdolls => ragdolls(world, if is_small { 6 } else { 20 }),
        }
    }
}

/// A sequence of numbers from 0 to 1 that is the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    /// Returns the next number, between the two given.
    pub fn between(&mut self, from: f32, to: f32) -> f32 {
        // Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (to - from) * ((bits ^ bits >> 31) >> 40) as f32 / (1 << 24) as f32
    }
}

fn block(world: &mut World, body: RigidBody, size: Vec3, at: Vec3) -> Entity {
    world.spawn((body, Collider::cuboid(size.x, size.y, size.z), Transform::from_translation(at))).id()
}

fn falling(world: &mut World, counts: [u32; 3]) {
    block(world, RigidBody::Static, Vec3::new(200.0, 1.0, 200.0), Vec3::new(0.0, -0.5, 0.0));
    let mut numbers = Numbers(1);
    for layer in 0..counts[1] {
        for (i, j) in (0..counts[0]).flat_map(|i| (0..counts[2]).map(move |j| (i, j))) {
            let place = Vec3::new(i as f32, layer as f32 + 1.0, j as f32);
            let shift = Vec3::from([(); 3].map(|()| numbers.between(-0.2, 0.2)));
            let center = Vec3::new(counts[0] as f32, 0.0, counts[2] as f32) / 2.0;
            let size = Vec3::from([(); 3].map(|()| numbers.between(0.6, 1.0)));
            block(world, RigidBody::Dynamic, size, (place - center) * 1.4 + shift);
        }
    }
}

fn pyramid(world: &mut World, base: u32) {
    block(world, RigidBody::Static, Vec3::new(200.0, 1.0, 200.0), Vec3::new(0.0, -0.5, 0.0));
    for layer in 0..base {
        let count = base - layer;
        let from = -0.5 * 1.05 * (count - 1) as f32;
        for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
            let at = Vec3::new(from + 1.05 * i as f32, 0.5 + layer as f32, from + 1.05 * j as f32);
            block(world, RigidBody::Dynamic, Vec3::ONE, at);
        }
    }
    // A ball that runs into it.
    let ball = (Collider::sphere(1.5), Transform::from_xyz(-0.75 * base as f32 - 6.0, 1.6, 0.0));
    world.spawn((RigidBody::Dynamic, ball, LinearVelocity(Vec3::X * 25.0), ColliderDensity(20.0)));
}

fn level(world: &mut World, side: u32, movers: u32) {
    let mut numbers = Numbers(2);
    let mut heights = Vec::new();
    for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
        let wave = (0.11 * i as f32).sin() + (0.07 * j as f32).cos();
        let height = 2.0 * wave + if numbers.between(0.0, 1.0) < 0.05 { 2.0 } else { numbers.between(0.0, 0.3) };
        block(
            world,
            RigidBody::Static,
            Vec3::new(2.0, 8.0, 2.0),
            Vec3::new(2.0 * i as f32, height - 4.0, 2.0 * j as f32),
        );
        heights.push(height);
    }
    for mover in 0..movers {
        let place = (numbers.between(0.0, 1.0) * (heights.len() - 1) as f32) as u32;
        let at = Vec3::new(2.0 * (place / side) as f32, heights[place as usize] + 1.0, 2.0 * (place % side) as f32);
        let velocity = Vec3::new(numbers.between(-12.0, 12.0), 0.0, numbers.between(-12.0, 12.0));
        let collider = if mover % 2 == 0 { Collider::sphere(0.5) } else { Collider::capsule(0.4, 0.8) };
        let bounce = (Restitution::new(0.9), Friction::new(0.1));
        let body = (RigidBody::Dynamic, collider, Transform::from_translation(at), LinearVelocity(velocity), bounce);
        let mut mover_entity = world.spawn(body);
        if mover % 10 == 0 {
            // A drone: it flies on, whatever it meets.
            mover_entity.insert((RigidBody::Kinematic, LinearVelocity(velocity + Vec3::Y * 0.1)));
        }
    }
}

/// The layer of a level, of ragdolls, and of what only sensors see.
const LEVEL: u32 = 1;
const RAGDOLL: u32 = 2;
const LOOSE_PART: u32 = 4;

fn ragdolls(world: &mut World, side: u32) {
    stairs(world, side);
    let mut numbers = Numbers(3);
    for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
        let at = Vec3::new(1.3 * i as f32, 12.0 + 2.5 * numbers.between(0.0, 1.0), 1.3 * j as f32);
        ragdoll(world, at, &mut numbers);
    }
}

/// Stairs of one static body whose steps are its children, with a sensor over every tenth of them, and a ground.
fn stairs(world: &mut World, side: u32) {
    let layers = CollisionLayers::from_bits(LEVEL, !0);
    let ground = block(world, RigidBody::Static, Vec3::new(400.0, 1.0, 400.0), Vec3::new(0.0, -0.5, 0.0));
    world.entity_mut(ground).insert(layers);
    let length = 1.3 * side as f32;
    let stairs = world.spawn((RigidBody::Static, Transform::default())).id();
    for step in 0..20 {
        let at = Vec3::new(length * step as f32 / 20.0, 0.25 * step as f32, length / 2.0);
        let size = Collider::cuboid(length / 20.0, 0.5 * step as f32 + 0.5, length + 4.0);
        world.spawn((size, layers, Transform::from_translation(at), ChildOf(stairs)));
        if step % 5 == 0 {
            let above = Transform::from_translation(at + Vec3::Y * 4.0);
            let seen = CollisionLayers::from_bits(LEVEL, RAGDOLL | LOOSE_PART);
            world.spawn((
                Sensor,
                Collider::cuboid(1.0, 4.0, length),
                seen,
                above,
                RigidBody::Static,
                CollisionEventsEnabled,
            ));
        }
    }
}

/// A body with a head, limbs and a backpack of two colliders. Joints of limbs disable the collisions between the two
/// bodies.
fn ragdoll(world: &mut World, at: Vec3, numbers: &mut Numbers) {
    let layers = CollisionLayers::from_bits(RAGDOLL, LEVEL | RAGDOLL | LOOSE_PART);
    let spin = AngularVelocity(Vec3::from([(); 3].map(|()| numbers.between(-4.0, 4.0))));
    let part = |world: &mut World, collider: Collider, offset: Vec3| {
        let place = Transform::from_translation(at + offset);
        world.spawn((RigidBody::Dynamic, collider, layers, place, spin)).id()
    };
    let trunk = part(world, Collider::cuboid(0.4, 0.6, 0.25), Vec3::ZERO);
    let pack = Transform::from_xyz(0.0, 0.1, 0.25);
    world.spawn((Collider::cuboid(0.3, 0.4, 0.2), layers, pack, ChildOf(trunk)));
    let connect = |world: &mut World, upper: Entity, lower: Entity, from: Vec3, to: Vec3| {
        let joint = SphericalJoint::new(upper, lower).with_local_anchor1(from).with_local_anchor2(to);
        world.spawn((joint.with_swing_limits(-1.2, 1.2), JointCollisionDisabled));
    };
    let head = part(world, Collider::sphere(0.17), Vec3::Y * 0.5);
    connect(world, trunk, head, Vec3::Y * 0.32, Vec3::NEG_Y * 0.18);
    for (x, y) in [(-1.0, 0.2), (1.0, 0.2), (-0.5, -0.35), (0.5, -0.35)] {
        let hip = Vec3::new(0.25 * x, y, 0.0);
        let upper = part(world, Collider::capsule(0.07, 0.25), hip + Vec3::NEG_Y * 0.2);
        connect(world, trunk, upper, hip, Vec3::Y * 0.2);
        let lower = part(world, Collider::capsule(0.06, 0.25), hip + Vec3::NEG_Y * 0.6);
        connect(world, upper, lower, Vec3::NEG_Y * 0.2, Vec3::Y * 0.2);
    }
    // A hat, which hits the level and no ragdoll.
    let hat = part(world, Collider::cylinder(0.2, 0.1), Vec3::Y * 0.8);
    world.entity_mut(hat).insert(CollisionLayers::from_bits(LOOSE_PART, LEVEL));
}
