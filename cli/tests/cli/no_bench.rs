//! `broadsweep bench` in a build without it.

use crate::place::Place;

#[test]
fn a_build_without_the_benchmark_names_the_build_that_has_it() {
    for arguments in ["bench", "bench usscd --quick", "bench --scenes uniform --n 3"] {
        let line = Place::new().fail(arguments);
        assert!(line.contains("cargo run --release --features broadsweep-cli/bench -- bench"), "{arguments}: {line}");
    }
}
