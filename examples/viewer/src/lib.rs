//! Simulates boxes, finds their pairs with broadsweep, and draws both.
//!
//! [`viewer`] records a frame, with these files in its order: [`simulation`] moves the bodies of a [`scene`] in a
//! compute shader, [`search`] finds the pairs of their boxes with the library, [`touch`] applies their effects,
//! [`mod@pointer`] queries a tree for the box under the pointer, and [`picture`] draws boxes and pairs from the
//! buffers. Only counts and times are read back, some frames later.
//!
//! [`window`] shows frames in a window with the panel of [`overlay`], and [`offscreen`] writes them to a file.

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
