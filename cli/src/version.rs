//! The versions and features that the program was built from.

use std::sync::LazyLock;

/// The version of the program.
pub const OWN: &str = env!("CARGO_PKG_VERSION");

/// Returns the compiled features. The GPU engine is part of every build of the program.
pub fn features() -> Vec<&'static str> {
    let all = [("bench", cfg!(feature = "bench")), ("peers", cfg!(feature = "peers")), ("gpu", true)];
    all.into_iter().filter_map(|(name, is_compiled)| is_compiled.then_some(name)).collect()
}

/// The version of wgpu in the workspace's lock file, which a test compares. wgpu itself has no constant for it.
pub const WGPU: &str = "30.0.1";

/// Returns the text of `--version`; `-V` prints the version alone.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| format!("{OWN}\nfeatures: {}\nwgpu: {WGPU}", features().join(", ")));
    &TEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_wgpu_is_that_of_the_lock_file() {
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock");
        // In the workspace; a published package has its own.
        let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
        let lock = std::fs::read_to_string(shared).or_else(|_| std::fs::read_to_string(own)).unwrap();
        let entries: Vec<&str> = lock.split("name = \"wgpu\"\n").skip(1).collect();
        assert_eq!(entries.len(), 1);
        assert!(entries[0].starts_with(&format!("version = \"{WGPU}\"\n")), "the constant is {WGPU}");
    }
}
