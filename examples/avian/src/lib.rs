//! Avian's broad phase, replaced by broadsweep's CPU engine: [`BroadsweepBroadPhasePlugin`].
//!
//! The plugin is one file, [`plugin`], which a game can copy. [`check`] compares it with Avian's own broad phase in
//! every step; [`scenes`] has the scenes of the command line and of the tests.
//!
//! ```no_run
//! use avian3d::prelude::*;
//! use bevy::prelude::*;
//! use broadsweep_avian::BroadsweepBroadPhasePlugin;
//! use broadsweep_avian::check::CheckPlugin;
//!
//! App::new().add_plugins((
//!     MinimalPlugins,
//!     TransformPlugin,
//!     PhysicsPlugins::default()
//!         .build()
//!         .disable::<BvhBroadPhasePlugin>()
//!         .add(BroadsweepBroadPhasePlugin::<()>::default()),
//!     CheckPlugin::<()>::default(),
//! ));
//! ```

pub mod check;
pub mod plugin;
pub mod scenes;
pub mod simulation;

pub use plugin::{BroadPhaseCache, BroadsweepBroadPhasePlugin};
