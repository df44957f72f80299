//! Compiles kernels ahead, without blocking.

#[cfg(target_arch = "wasm32")]
mod in_browser;
#[cfg(not(target_arch = "wasm32"))]
mod on_threads;

#[cfg(target_arch = "wasm32")]
pub use in_browser::Compilation;
#[cfg(not(target_arch = "wasm32"))]
pub use on_threads::Compilation;

/// The progress of a [`Compilation`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompilationProgress {
    /// The count of kernels that are compiled or rejected.
    pub compiled: usize,
    /// The count of requested kernels; 0 until the list is known.
    pub kernels: usize,
}
