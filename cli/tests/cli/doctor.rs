//! `--version`.

use crate::place::Place;

#[test]
fn the_version_names_features_and_wgpu() {
    let place = Place::new();
    assert_eq!(place.run("-V"), concat!("broadsweep ", env!("CARGO_PKG_VERSION"), "\n"));
    let long = place.run("--version");
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], concat!("broadsweep ", env!("CARGO_PKG_VERSION")));
    let features: Vec<&str> = lines[1].strip_prefix("features: ").unwrap().split(", ").collect();
    for (name, is_compiled) in [("bench", cfg!(feature = "bench")), ("peers", cfg!(feature = "peers")), ("gpu", true)] {
        assert_eq!(features.contains(&name), is_compiled, "{long}");
    }
    assert!(lines[2].strip_prefix("wgpu: ").unwrap().starts_with(|c: char| c.is_ascii_digit()), "{long}");
}
