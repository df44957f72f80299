//! The laboratory: what broadsweep is tested, compared and measured with, apart from the library so that its users do
//! not pay for it.
//!
//! [`scenes`] makes boxes, the same ones on every machine, and reads and writes them as `.npy` files. [`baselines`] are
//! the algorithms of the literature, and `peers`, behind the feature of that name, other libraries in the same harness.
//! An [`Engine`](engine::Engine) is any of these, or one of our own. [`queries`] sends them rays, boxes and points.
//! [`measure`] has what every measurement shares, and `bench`, behind the feature of that name, what `broadsweep bench`
//! measures and draws.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod adapter;
pub mod baselines;
#[cfg(feature = "bench")]
pub mod bench;
pub mod engine;
pub mod measure;
pub mod model;
#[cfg(feature = "peers")]
pub mod peers;
pub mod queries;
pub mod scenes;
pub mod text;
