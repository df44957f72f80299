//! Compiling ahead, without blocking.

#[cfg(target_arch = "wasm32")]
mod in_browser;
#[cfg(not(target_arch = "wasm32"))]
mod on_threads;

#[cfg(target_arch = "wasm32")]
pub use in_browser::Compilation;
#[cfg(not(target_arch = "wasm32"))]
pub use on_threads::Compilation;

/// How far a [`Compilation`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompilationProgress {
    /// The kernels that are compiled, or rejected.
    pub compiled: usize,
    /// All kernels that were asked for; 0 until it is known which they are.
    pub kernels: usize,
}
