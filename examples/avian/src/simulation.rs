//! A scene in a Bevy app without a window, one physics step at a time.

use std::time::Duration;

use avian3d::collision::CollisionDiagnostics;
use avian3d::prelude::*;
use bevy::app::PluginGroupBuilder;
use bevy::ecs::system::SystemParamItem;
use bevy::platform::time::Instant;
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;

use crate::check::{CheckPlugin, CheckReport};
use crate::plugin::BroadsweepBroadPhasePlugin;
use crate::scenes::{Scene, Size};

/// The length of a step.
pub const STEP: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// The broad phase of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Avian's own.
    Avian,
    /// This package's.
    Broadsweep,
    /// This package's, compared with Avian's in every step.
    Checked,
}

/// An app with a scene.
pub struct Simulation {
    /// The app. Tests change its world between steps.
    pub app: App,
    /// The time of all steps.
    pub time: Duration,
    /// The time of the broad phase in each step.
    pub broad_phase: Vec<Duration>,
}

impl Simulation {
    /// Creates a simulation of a scene.
    pub fn new(engine: Engine, scene: Scene, size: Size) -> Self {
        let mut simulation = Self::empty(engine);
        scene.spawn(size, simulation.app.world_mut());
        simulation
    }

    /// Creates a simulation without bodies.
    pub fn empty(engine: Engine) -> Self {
        Self::with_plugins::<()>(engine, PhysicsPlugins::default().build())
    }

    /// Creates a simulation without bodies, with these plugins of Avian and their hooks.
    pub fn with_plugins<H: CollisionHooks + 'static>(engine: Engine, plugins: PluginGroupBuilder) -> Self
    where
        for<'w, 's> SystemParamItem<'w, 's, H>: CollisionHooks,
    {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, TransformPlugin))
            .insert_resource(TimeUpdateStrategy::ManualDuration(STEP))
            .insert_resource(Time::<Fixed>::from_duration(STEP));
        match engine {
            Engine::Avian => app.add_plugins(plugins),
            Engine::Broadsweep | Engine::Checked => app.add_plugins(
                plugins.disable::<BvhBroadPhasePlugin<H>>().add(BroadsweepBroadPhasePlugin::<H>::default()),
            ),
        };
        if engine == Engine::Checked {
            app.add_plugins(CheckPlugin::<H>::default());
        }
        app.finish();
        app.cleanup();
        // The first update has no time to simulate.
        app.update();
        Self { app, time: Duration::ZERO, broad_phase: Vec::new() }
    }

    /// Simulates a step.
    pub fn step(&mut self) {
        let start = Instant::now();
        self.app.update();
        self.time += start.elapsed();
        self.broad_phase.push(self.app.world().resource::<CollisionDiagnostics>().broad_phase);
    }

    /// Returns the pairs in the contact graph.
    pub fn pair_count(&self) -> usize {
        let graph = self.app.world().resource::<ContactGraph>();
        graph.iter_active().count() + graph.iter_sleeping().count()
    }

    /// Returns the report of a [checked](Engine::Checked) simulation.
    pub fn report(&self) -> Option<&CheckReport> {
        self.app.world().get_resource()
    }

    /// Returns a hash of the bits of all positions and rotations, in the order of the entities.
    pub fn hash(&mut self) -> u64 {
        let world = self.app.world_mut();
        let mut bodies: Vec<_> = world.query::<(Entity, &Position, &Rotation)>().iter(world).collect();
        bodies.sort_unstable_by_key(|body| body.0);
        let numbers = bodies.iter().flat_map(|body| body.1.to_array().into_iter().chain(body.2.to_array()));
        // Source: Fowler, Noll and Vo, FNV-1a.
        numbers
            .flat_map(|number| number.to_bits().to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
