//! Simulates boxes, finds their pairs with broadsweep, and draws both.
//!
//! A frame goes through these files, and [`viewer`] says in which order: [`simulation`] moves the bodies of a [`scene`] in a
//! compute shader, [`search`] has the library find the pairs of their boxes, [`touch`] is what pairs do, [`mod@pointer`] queries a
//! tree what is pointed at, and [`picture`] draws boxes and pairs from the buffers where they lie. Nothing of that comes to
//! the host but counts and times, some frames late.
//!
//! [`window`] runs frames in a window whose panel is [`overlay`], and [`offscreen`] into a file.

#![warn(missing_docs)]

pub mod camera;
pub mod clock;
pub mod device;
pub mod error;
pub mod globals;
pub mod grid;
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub mod inspect;
mod kernel;
#[cfg(not(target_arch = "wasm32"))]
pub mod npy;
#[cfg(not(target_arch = "wasm32"))]
pub mod offscreen;
#[cfg(feature = "window")]
pub mod overlay;
#[cfg(feature = "window")]
pub mod panel;
pub mod picture;
pub mod pointer;
pub mod scene;
pub mod search;
pub mod settings;
pub mod simulation;
pub mod touch;
#[cfg(not(target_arch = "wasm32"))]
pub mod trace;
pub mod viewer;
#[cfg(not(target_arch = "wasm32"))]
mod warm;
#[cfg(feature = "window")]
pub mod window;
