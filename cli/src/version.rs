//! The versions and features that the program was built from.

use std::sync::LazyLock;

use laboratory::adapter::WGPU_VERSION;

/// The version of the program.
pub const OWN: &str = env!("CARGO_PKG_VERSION");

/// Returns the compiled features. The GPU engine is part of every build of the program.
pub fn features() -> Vec<&'static str> {
    let all = [("bench", cfg!(feature = "bench")), ("peers", cfg!(feature = "peers")), ("gpu", true)];
    all.into_iter().filter_map(|(name, is_compiled)| is_compiled.then_some(name)).collect()
}

/// Returns the text of `--version`; `-V` prints the version alone.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| format!("{OWN}\nfeatures: {}\nwgpu: {WGPU_VERSION} in Cargo.lock", features().join(", ")));
    &TEXT
}
