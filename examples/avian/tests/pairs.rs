//! Pairs are those of Avian's own broad phase, in every step.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use avian3d::collider_tree::{ColliderTrees, MovedProxies};
use avian3d::dynamics::solver::islands::IslandPlugin;
use avian3d::prelude::*;
use bevy::ecs::entity_disabling::Disabled;
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use broadsweep_avian::BroadPhaseCache;
use broadsweep_avian::check::CheckReport;
use broadsweep_avian::scenes::{Numbers, Scene, Size};
use broadsweep_avian::simulation::{Engine, Simulation};

fn report_of(simulation: &Simulation) -> &CheckReport {
    simulation.report().expect("the simulation is checked")
}

fn assert_same_pairs(simulation: &Simulation, steps: usize) {
    let report = report_of(simulation);
    assert_eq!((report.steps, report.steps_that_differ, &report.first_difference), (steps, 0, &None));
}

fn cube(world: &mut World, body: RigidBody, at: Vec3) -> Entity {
    world.spawn((body, Collider::cuboid(1.0, 1.0, 1.0), Transform::from_translation(at))).id()
}

#[test]
fn every_scene_has_the_pairs_of_avian_in_every_step() {
    for scene in Scene::ALL {
        let mut simulation = Simulation::new(Engine::Checked, scene, Size::Small);
        (0..200).for_each(|_| simulation.step());
        assert_same_pairs(&simulation, 200);
        assert!(report_of(&simulation).added > 100, "{}: few pairs", scene.name());
    }
}

#[test]
fn a_difference_is_reported() {
    let mut simulation = Simulation::empty(Engine::Checked);
    cube(simulation.app.world_mut(), RigidBody::Dynamic, Vec3::ZERO);
    cube(simulation.app.world_mut(), RigidBody::Dynamic, Vec3::X);
    // Drops what was found, after the broad phase and before the comparison.
    let drop_all = |mut graph: ResMut<ContactGraph>| graph.clear();
    let after = BroadPhaseSystems::CollectCollisions;
    simulation.app.add_systems(PhysicsSchedule, drop_all.after(after).before(BroadPhaseSystems::Last));
    simulation.step();
    let report = report_of(&simulation);
    assert_eq!((report.steps, report.steps_that_differ), (1, 1));
    assert!(report.first_difference.as_ref().is_some_and(|text| text.starts_with("step 1: 0 pairs, Avian 1;")));
}

/// The kinds of [`change`].
const ALL_KINDS: [u32; 20] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

/// All kinds except joints: Avian's islands panic at some joints, with any broad phase.
const KINDS_WITHOUT_JOINTS: [u32; 19] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

/// Changes a random body, by a random one of these kinds. A broad phase has to notice each change.
fn change(world: &mut World, entities: &mut Vec<Entity>, numbers: &mut Numbers, kinds: &[u32]) {
    let at = Vec3::from([(); 3].map(|()| numbers.between(-8.0, 8.0)));
    let body = [RigidBody::Dynamic, RigidBody::Kinematic, RigidBody::Static][numbers.between(0.0, 2.99) as usize];
    let index = numbers.between(0.0, entities.len() as f32 - 0.01) as usize;
    let other = entities[numbers.between(0.0, entities.len() as f32 - 0.01) as usize];
    let Ok(mut entity) = world.get_entity_mut(entities[index]) else { return };
    match kinds[numbers.between(0.0, kinds.len() as f32 - 0.01) as usize] {
        0 => entities.push(cube(world, body, at)),
        1 => {
            entity.despawn();
            entities.swap_remove(index);
        }
        2 => drop(entity.insert(body)),
        3 => drop(entity.insert(Transform::from_translation(at))),
        4 => {
            let bits = numbers.between(1.0, 7.99) as u32;
            entity.insert(CollisionLayers::from_bits(bits, 7 - bits / 2));
        }
        5 if entity.contains::<Sensor>() => drop(entity.remove::<Sensor>()),
        5 => drop(entity.insert(Sensor)),
        6 if entity.contains::<RigidBodyDisabled>() => drop(entity.remove::<RigidBodyDisabled>()),
        6 => drop(entity.insert(RigidBodyDisabled)),
        7 if entity.contains::<ColliderDisabled>() => drop(entity.remove::<ColliderDisabled>()),
        7 => drop(entity.insert(ColliderDisabled)),
        8 => drop(entity.insert(CollisionEventsEnabled)),
        9 if entity.id() != other => {
            let joint = DistanceJoint::new(entity.id(), other).with_limits(0.0, 3.0);
            world.spawn((joint, JointCollisionDisabled));
        }
        10 => drop(entity.insert(Collider::sphere(numbers.between(0.2, 1.5)))),
        11 => {
            let child = (Collider::cuboid(0.5, 2.0, 0.5), Transform::from_translation(at / 5.0), ChildOf(entity.id()));
            entities.push(world.spawn(child).id());
        }
        // A collider without a body.
        12 => entities.push(world.spawn((Collider::sphere(1.0), Transform::from_translation(at))).id()),
        13 => give_to_other_parent(world, entities[index], other),
        14 => drop(entity.insert(ActiveCollisionHooks::FILTER_PAIRS | ActiveCollisionHooks::MODIFY_CONTACTS)),
        15 => drop(entity.insert((SweptCcd::default(), SpeculativeMargin(f32::MAX), LinearVelocity(at * 60.0)))),
        // A margin below about -0.5 inverts the box.
        16 => drop(entity.insert(CollisionMargin(numbers.between(-1.0, 1.0)))),
        17 => drop(entity.insert(Transform::from_translation(at * 1e6))),
        18 if entity.contains::<Disabled>() => drop(entity.remove::<Disabled>()),
        18 => drop(entity.insert(Disabled)),
        _ => drop(entity.insert(LinearVelocity(at))),
    }
}

/// Makes a collider a child of another entity, unless that would be a cycle.
fn give_to_other_parent(world: &mut World, child: Entity, parent: Entity) {
    let is_root = |entity: Entity| world.get_entity(entity).is_ok_and(|entity| !entity.contains::<ChildOf>());
    let has_children = world.entity(child).contains::<Children>();
    if child != parent && is_root(parent) && !has_children {
        world.entity_mut(child).insert(ChildOf(parent));
    }
}

/// Returns a checked simulation without Avian's islands.
fn without_islands() -> Simulation {
    let plugins = PhysicsPlugins::default().build().disable::<IslandPlugin>();
    Simulation::with_plugins::<()>(Engine::Checked, plugins)
}

/// Spawns 400 cubes at random places.
fn cloud(world: &mut World, numbers: &mut Numbers) -> Vec<Entity> {
    world.insert_resource(Gravity(Vec3::NEG_Y * 2.0));
    let place = |_| Vec3::from([(); 3].map(|()| numbers.between(-8.0, 8.0)));
    (0..400).map(place).map(|at| cube(world, RigidBody::Dynamic, at)).collect()
}

#[test]
fn bodies_that_come_go_and_change_have_the_pairs_of_avian() {
    for seed in 0..4 {
        let (mut numbers, mut simulation) = (Numbers(seed), without_islands());
        let mut entities = cloud(simulation.app.world_mut(), &mut numbers);
        for _ in 0..150 {
            (0..8).for_each(|_| change(simulation.app.world_mut(), &mut entities, &mut numbers, &ALL_KINDS));
            simulation.step();
        }
        assert_same_pairs(&simulation, 150);
        assert!(report_of(&simulation).added > 500, "{:?}", report_of(&simulation).added);
    }
}

#[derive(Resource)]
struct BroadPhaseRuns(bool);

#[test]
fn steps_after_a_pause_or_without_a_broad_phase_have_the_pairs_of_avian() {
    let (mut numbers, mut simulation) = (Numbers(5), without_islands());
    let runs = |runs: Res<BroadPhaseRuns>| runs.0;
    simulation.app.configure_sets(PhysicsSchedule, PhysicsStepSystems::BroadPhase.run_if(runs));
    let mut entities = cloud(simulation.app.world_mut(), &mut numbers);
    let mut compared = 0;
    for step in 0..150 {
        let world = simulation.app.world_mut();
        (0..8).for_each(|_| change(world, &mut entities, &mut numbers, &ALL_KINDS));
        let (is_paused, runs) = (step % 10 > 7, step % 15 < 13);
        world.insert_resource(BroadPhaseRuns(runs));
        let mut time = world.resource_mut::<Time<Physics>>();
        if is_paused {
            time.pause()
        } else {
            time.unpause()
        }
        simulation.step();
        // Avian simulates the first step of a pause.
        compared += usize::from(runs && step % 10 != 9);
    }
    assert_same_pairs(&simulation, compared);
    assert!(report_of(&simulation).added > 500, "{:?}", report_of(&simulation).added);
}

#[test]
fn a_box_that_a_negative_margin_inverts_has_the_pairs_of_avian() {
    let mut simulation = Simulation::empty(Engine::Checked);
    let world = simulation.app.world_mut();
    world.insert_resource(Gravity(Vec3::ZERO));
    let block = |world: &mut World, body: RigidBody, size: Vec3, at: Vec3, margin: f32| {
        let collider = Collider::cuboid(size.x, size.y, size.z);
        world.spawn((body, collider, Transform::from_translation(at), CollisionMargin(margin))).id()
    };
    let large = block(world, RigidBody::Static, Vec3::splat(20.0), Vec3::ZERO, 0.0);
    // Inside of the large box, and at its surface; the second has half its size outside.
    let inside = block(world, RigidBody::Dynamic, Vec3::ONE, Vec3::X * 5.0, -1.5);
    let at_surface = block(world, RigidBody::Dynamic, Vec3::ONE, Vec3::X * 10.0, -1.5);
    let flat = block(world, RigidBody::Kinematic, Vec3::new(1.0, 8.0, 8.0), Vec3::Y * 5.0, -1.5);
    let inverted_too = block(world, RigidBody::Dynamic, Vec3::ONE, Vec3::X * 5.0, -1.5);
    simulation.step();
    assert_same_pairs(&simulation, 1);
    let graph = simulation.app.world().resource::<ContactGraph>();
    let met = [inside, at_surface, flat].map(|other| graph.contains(large, other));
    assert_eq!((met, graph.contains(inside, inverted_too)), ([true, false, true], false));
}

/// Spawns a floor and 64 cubes in piles of four, which fall asleep.
fn piles(world: &mut World) -> Vec<Entity> {
    let floor = (RigidBody::Static, Collider::cuboid(60.0, 1.0, 60.0), Transform::from_xyz(0.0, -0.5, 0.0));
    world.spawn(floor);
    let places = (0..64).map(|i| Vec3::new((i % 4) as f32 * 3.0, (i / 16) as f32 + 0.5, (i / 4 % 4) as f32 * 3.0));
    places.map(|at| cube(world, RigidBody::Dynamic, at)).collect()
}

#[test]
fn islands_that_sleep_and_wake_have_the_pairs_of_avian() {
    let mut simulation = Simulation::empty(Engine::Checked);
    let cubes = piles(simulation.app.world_mut());
    let sleeping = |simulation: &mut Simulation| {
        let world = simulation.app.world_mut();
        world.query_filtered::<(), With<Sleeping>>().iter(world).count()
    };
    (0..120).for_each(|_| simulation.step());
    assert_eq!(sleeping(&mut simulation), 64);
    let world = simulation.app.world_mut();
    // Sleeping bodies change their layers, their collider and their kind, come elsewhere, and go.
    world.entity_mut(cubes[48]).insert(CollisionLayers::from_bits(2, !0));
    world.entity_mut(cubes[49]).insert(Collider::cuboid(1.0, 1.0, 4.0));
    world.entity_mut(cubes[50]).insert(RigidBody::Kinematic);
    world.entity_mut(cubes[51]).insert(Transform::from_xyz(0.4, 4.5, 0.3));
    world.entity_mut(cubes[52]).despawn();
    let ball = (RigidBody::Dynamic, Collider::sphere(0.5), Transform::from_xyz(-4.0, 3.5, 3.0));
    world.spawn((ball, LinearVelocity(Vec3::X * 20.0)));
    let mut fewest = 64;
    for _ in 0..200 {
        simulation.step();
        fewest = fewest.min(sleeping(&mut simulation));
    }
    assert!((1..56).contains(&fewest), "{fewest} slept");
    assert_same_pairs(&simulation, 320);
}

#[test]
fn bodies_that_change_sleep_and_wake_have_the_pairs_of_avian() {
    for seed in 0..4 {
        let (mut numbers, mut simulation) = (Numbers(seed), Simulation::empty(Engine::Checked));
        let world = simulation.app.world_mut();
        world.insert_resource(TimeToSleep(0.1));
        let mut entities = piles(world);
        let (mut asleep, mut fell_asleep, mut woken_by_others) = (HashSet::new(), 0, 0);
        for step in 0..300 {
            let world = simulation.app.world_mut();
            if step % 4 == 0 {
                change(world, &mut entities, &mut numbers, &KINDS_WITHOUT_JOINTS);
            }
            if step % 8 == 0 {
                let at = Vec3::new(numbers.between(-1.0, 10.0), 6.0, numbers.between(-1.0, 10.0));
                let ball = (RigidBody::Dynamic, Collider::sphere(0.5), Transform::from_translation(at));
                world.spawn((ball, LinearVelocity(Vec3::NEG_Y * 10.0)));
            }
            simulation.step();
            let world = simulation.app.world_mut();
            let now: HashSet<Entity> = world.query_filtered::<Entity, With<Sleeping>>().iter(world).collect();
            fell_asleep += now.difference(&asleep).count();
            // A body that the test itself changed wakes in the same step.
            if step % 4 > 1 {
                woken_by_others += asleep.difference(&now).count();
            }
            asleep = now;
        }
        assert_same_pairs(&simulation, 300);
        assert!(fell_asleep > 100 && woken_by_others > 25, "{fell_asleep} {woken_by_others}");
    }
}

#[test]
fn a_collider_with_nan_in_its_position_leaves_the_pairs_of_all_others() {
    // 16 cubes meet the floor, and 48 the cube below. The last cube meets nobody.
    for (engine, at) in [(Engine::Checked, Vec3::X * 1e30), (Engine::Broadsweep, Vec3::NAN)] {
        let mut simulation = Simulation::empty(engine);
        piles(simulation.app.world_mut());
        cube(simulation.app.world_mut(), RigidBody::Kinematic, at);
        simulation.step();
        assert_eq!(simulation.pair_count(), 64, "{at}");
        if engine == Engine::Checked {
            assert_same_pairs(&simulation, 1);
        }
    }
}

#[derive(Resource, Default)]
struct Calls(Mutex<Vec<[Entity; 2]>>);

#[derive(SystemParam)]
struct Refuse<'w> {
    calls: Res<'w, Calls>,
}

impl CollisionHooks for Refuse<'_> {
    fn filter_pairs(&self, collider1: Entity, collider2: Entity, _: &mut Commands) -> bool {
        self.calls.0.lock().unwrap_or_else(PoisonError::into_inner).push([collider1, collider2]);
        !(2 * collider1.index_u32() + collider2.index_u32()).is_multiple_of(3)
    }
}

#[test]
fn hooks_are_called_for_the_pairs_that_avian_calls_them_for() {
    let plugins = PhysicsPlugins::default().with_collision_hooks::<Refuse>().build();
    let mut simulation = Simulation::with_plugins::<Refuse>(Engine::Checked, plugins);
    let world = simulation.app.world_mut();
    world.init_resource::<Calls>();
    let mut numbers = Numbers(9);
    for i in 0..150 {
        let body = [RigidBody::Dynamic, RigidBody::Kinematic, RigidBody::Static][i % 3];
        let velocity = LinearVelocity(Vec3::from([(); 3].map(|()| numbers.between(-3.0, 3.0))));
        let cube = cube(world, body, Vec3::from([(); 3].map(|()| numbers.between(-4.0, 4.0))));
        world.entity_mut(cube).insert((velocity, ActiveCollisionHooks::FILTER_PAIRS));
        if i % 4 == 0 {
            world.entity_mut(cube).insert(Sensor);
        }
    }
    let mut refused = 0;
    for _ in 0..60 {
        simulation.step();
        let calls = std::mem::take(&mut *simulation.app.world_mut().resource_mut::<Calls>());
        let mut counts = HashMap::new();
        for call in calls.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            *counts.entry(call).or_insert(0) += 1;
            refused += usize::from((2 * call[0].index_u32() + call[1].index_u32()).is_multiple_of(3));
        }
        // Avian calls for a pair, and then this package does.
        assert!(counts.values().all(|count| *count == 2), "{counts:?}");
    }
    assert_same_pairs(&simulation, 60);
    assert!(refused > 50 && report_of(&simulation).added > 100, "{refused}");
}

#[test]
fn a_wall_that_is_spawned_during_a_step_stops_a_ball() {
    let mut simulation = Simulation::empty(Engine::Checked);
    let world = simulation.app.world_mut();
    world.insert_resource(Gravity(Vec3::ZERO));
    // Another static body: Avian drops colliders that come while a tree is rebuilt, as an empty one is in every step.
    cube(world, RigidBody::Static, Vec3::Y * 50.0);
    let ball = (Collider::sphere(0.5), Transform::default(), LinearVelocity(Vec3::X * 6.0));
    let ball = world.spawn((RigidBody::Dynamic, ball)).id();
    let wall = |mut commands: Commands, mut steps: Local<u32>| {
        *steps += 1;
        if *steps == 20 {
            // Avian reads transforms at the beginning of a step.
            let place = (Transform::from_xyz(4.0, 0.0, 0.0), Position::from_xyz(4.0, 0.0, 0.0));
            commands.spawn((RigidBody::Static, Collider::cuboid(1.0, 9.0, 9.0), place));
        }
    };
    simulation.app.add_systems(PhysicsSchedule, wall.in_set(PhysicsStepSystems::NarrowPhase));
    (0..120).for_each(|_| simulation.step());
    assert_same_pairs(&simulation, 120);
    let position = simulation.app.world().get::<Position>(ball).expect("the ball has a position");
    assert!(position.x < 3.1, "{position:?}");
}

#[test]
fn a_collider_that_loses_its_body_in_a_collision_still_meets_others() {
    for is_child in [false, true] {
        let mut simulation = Simulation::empty(Engine::Checked);
        let world = simulation.app.world_mut();
        world.insert_resource(Gravity(Vec3::ZERO));
        // Another collider without a body: Avian drops colliders that are added while it rebuilds a tree; it rebuilds
        // an empty tree in every step.
        world.spawn((Collider::sphere(1.0), Transform::from_xyz(0.0, 50.0, 0.0)));
        let collider = (Collider::cuboid(1.0, 1.0, 1.0), CollisionEventsEnabled, Transform::default());
        let platform = world.spawn(collider).id();
        if is_child {
            let body = world.spawn((RigidBody::Static, Transform::default())).id();
            world.entity_mut(platform).insert(ChildOf(body));
        } else {
            world.entity_mut(platform).insert(RigidBody::Static);
        }
        let ball = |world: &mut World, x: f32, velocity: f32| {
            let place = (Transform::from_xyz(x, 0.0, 0.0), LinearVelocity(Vec3::X * velocity));
            world.spawn((RigidBody::Dynamic, Collider::sphere(0.5), place)).id()
        };
        // A sensor: Avian's solver panics at a contact whose collider loses its body.
        let first = ball(world, -2.0, 4.0);
        world.entity_mut(first).insert(Sensor);
        let second = ball(world, 8.0, -4.0);
        // Avian reports collisions at the end of a step.
        world.add_observer(move |_: On<CollisionStart>, mut commands: Commands| {
            commands.entity(platform).remove::<(RigidBody, ColliderOf)>();
        });
        let mut has_met = false;
        for _ in 0..120 {
            simulation.step();
            has_met |= simulation.app.world().resource::<ContactGraph>().contains(platform, second);
        }
        assert_same_pairs(&simulation, 120);
        assert!(!simulation.app.world().entity(platform).contains::<ColliderOf>());
        assert!(has_met, "child: {is_child}");
    }
}

#[test]
fn a_rollback_with_a_reset_has_the_pairs_of_avian() {
    let mut simulation = Simulation::empty(Engine::Checked);
    let world = simulation.app.world_mut();
    let target = cube(world, RigidBody::Static, Vec3::ZERO);
    let mover = cube(world, RigidBody::Kinematic, Vec3::NEG_X * 4.0);
    world.entity_mut(mover).insert((Sensor, LinearVelocity(Vec3::X * 6.0)));
    let met = |simulation: &Simulation| simulation.app.world().resource::<ContactGraph>().contains(target, mover);
    let mut snapshot = None;
    let mut steps = 0;
    while !met(&simulation) && steps < 60 {
        let world = simulation.app.world();
        let (trees, moved) = (world.resource::<ColliderTrees>(), world.resource::<MovedProxies>());
        snapshot = Some((trees.clone(), moved.clone(), world.resource::<ContactGraph>().clone()));
        simulation.step();
        steps += 1;
    }
    simulation.app.world_mut().entity_mut(target).insert(Transform::from_xyz(0.0, 90.0, 0.0));
    (0..5).for_each(|_| simulation.step());
    assert!(!met(&simulation));
    let world = simulation.app.world_mut();
    let (trees, moved, graph) = snapshot.expect("a step was simulated");
    world.insert_resource(trees);
    world.insert_resource(moved);
    world.insert_resource(graph);
    world.insert_resource(BroadPhaseCache::default());
    simulation.step();
    assert_same_pairs(&simulation, steps + 6);
    let report = report_of(&simulation);
    assert_eq!(report.added, 2, "the pair is new in two steps");
}

#[test]
fn a_level_that_is_taken_down_leaves_no_pairs() {
    let mut simulation = Simulation::empty(Engine::Checked);
    let world = simulation.app.world_mut();
    let tiles: Vec<Entity> =
        (0..400).map(|i| cube(world, RigidBody::Static, Vec3::new((i % 20) as f32, -1.0, (i / 20) as f32))).collect();
    for i in 0..20 {
        cube(world, RigidBody::Dynamic, Vec3::new(2.0 * (i % 8) as f32, 0.2, 2.0 * (i / 8) as f32));
    }
    (0..30).for_each(|_| simulation.step());
    assert!(simulation.pair_count() > 20);
    for tile in tiles {
        assert!(simulation.app.world_mut().despawn(tile));
    }
    (0..30).for_each(|_| simulation.step());
    assert_same_pairs(&simulation, 60);
    assert_eq!(simulation.pair_count(), 0);
}
