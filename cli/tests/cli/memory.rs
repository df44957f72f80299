//! Lists of pairs that are too long for memory.

#![cfg(target_os = "linux")]

use std::process::{Command, Output};

use crate::place::{Place, one_line};

/// Runs the binary with this many KiB of addresses, as `ulimit -v` gives them, and without a GPU, whose driver would
/// take its share.
fn run_within(place: &Place, kib: u32, arguments: &str) -> Output {
    let own = place.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {kib} && exec \"$0\" \"$@\"")]).arg(own.get_program()).args(own.get_args());
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // Two threads on every machine: each takes its share of addresses.
    command.env("VK_DRIVER_FILES", "nowhere.json").env("RAYON_NUM_THREADS", "2");
    command.current_dir(place.path("")).output().unwrap()
}

#[test]
#[ignore = "long"]
fn a_list_beyond_memory_is_an_error_of_every_engine_and_of_the_comparison() {
    let place = Place::new();
    // 32 million pairs, 256 MB.
    for (kib, arguments, what) in [
        (250_000, "--engine cpu", "pairs need"),
        (250_000, "--engine cpu --order sweep --out pairs.npy", "pairs need"),
        (250_000, "--engine brute", "pairs need"),
        (600_000, "--engine cpu --verify --out pairs.npy", "cannot verify: "),
        (600_000, "--engine brute --verify --out pairs.npy", "cannot verify: "),
    ] {
        let output = run_within(&place, kib, &format!("pairs identical:8000 {arguments}"));
        let line = one_line(&output, arguments);
        assert!(line.contains(what) && line.contains("bytes of memory, which the system does not have"), "{line}");
        assert!(place.names().is_empty(), "{arguments}");
    }
}

#[test]
fn no_amount_of_memory_ends_in_an_abort() {
    let place = Place::new();
    let mut errors = 0;
    for kib in (110_000..=350_000).step_by(30_000) {
        for engine in ["cpu --verify", "brute"] {
            let output = run_within(&place, kib, &format!("pairs identical:4000 --engine {engine}"));
            let stderr = String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0) => {}
                Some(1) => errors += 1,
                other => panic!("{other:?} with {kib} KiB, {engine}: {stderr}"),
            }
        }
    }
    assert!((1..18).contains(&errors), "{errors} of 18");
}
