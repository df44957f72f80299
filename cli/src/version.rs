//! The versions and features that the program was built from.

use std::sync::LazyLock;

/// The version of the program.
pub const OWN: &str = env!("CARGO_PKG_VERSION");

/// Returns the compiled features. The GPU engine is part of every build of the program.
pub fn features() -> Vec<&'static str> {
    let all = [("bench", cfg!(feature = "bench")), ("peers", cfg!(feature = "peers")), ("gpu", true)];
    all.into_iter().filter_map(|(name, is_compiled)| is_compiled.then_some(name)).collect()
}

/// Returns the version of wgpu in the lock file. wgpu itself has no constant for it.
pub fn wgpu() -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let entry = lock.split_once("name = \"wgpu\"\nversion = \"").and_then(|(_, rest)| rest.split_once('"'));
    entry.map_or("unknown", |(version, _)| version)
}

/// Returns the text of `--version`; `-V` prints the version alone.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| format!("{OWN}\nfeatures: {}\nwgpu: {}", features().join(", "), wgpu()));
    &TEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_has_one_wgpu_with_a_version() {
        assert_eq!(include_str!("../../Cargo.lock").matches("name = \"wgpu\"\n").count(), 1);
        let is_number = |part: &str| part.parse::<u32>().is_ok();
        assert!(wgpu().split('.').count() == 3 && wgpu().split('.').all(is_number), "{}", wgpu());
    }
}
