//! What Rust and WGSL have to agree on.

use broadsweep::stages::SOURCES;

#[test]
fn every_kernel_parses_and_validates() {
    for source in SOURCES {
        if let Err(error) = source.module() {
            panic!("{error}");
        }
    }
}
