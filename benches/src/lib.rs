//! What broadsweep is tested, compared and measured with, apart from the library so that its users do not pay for it.
//!
//! [`scenes`] makes boxes, the same ones on every machine, and reads and writes them as `.npy` files. [`baselines`] are
//! the algorithms of the literature, and `peers`, behind the feature of that name, other libraries in the same harness.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod baselines;
#[cfg(feature = "peers")]
pub mod peers;
pub mod scenes;
