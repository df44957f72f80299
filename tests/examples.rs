//! The examples check their own results: each runs to its end.

#![cfg(feature = "gpu")]

use std::path::PathBuf;
use std::process::Command;

/// Runs an example that `cargo test` has built, and fails with its output.
fn run(name: &str, arguments: &[&str]) {
    let test = std::env::current_exe().unwrap();
    let folder: PathBuf = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples");
    let program = folder.join(name);
    let output = Command::new(&program).args(arguments).output();
    let output = output.unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo test` builds it, `cargo test --test examples` does not", program.display())
    });
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{name} {arguments:?} ended with {}:\n{out}{err}", output.status);
}

macro_rules! examples {
    ($($(#[$ignore:meta])? $test:ident: $name:literal $($argument:literal)*;)*) => {
        $(
            #[test]
            $(#[$ignore])?
            fn $test() {
                run($name, &[$($argument),*]);
            }
        )*
    };
}

examples! {
    two_boxes_have_one_pair: "first_pairs";
    triangles_of_a_mesh_pair_without_their_neighbours: "mesh_pairs";
    pairs_are_drawn_in_the_encoder_of_a_renderer: "draw_pairs";
    rays_meet_groups_from_host_memory_and_on_the_device: "rays_with_groups";
    a_solver_starts_with_the_impulses_of_the_last_step: "warm_start";
    an_engine_is_chosen_at_run_time: "any_engine" "gpu";
    a_game_filters_its_pairs: "game";
    contacts_begin_and_end: "contacts";
    boxes_come_and_go: "spawn";
    #[ignore = "long"]
    a_tree_is_chosen_at_run_time: "any_tree" "gpu";
    #[ignore = "long"]
    pairs_stay_on_the_device: "stay_on_gpu";
    #[ignore = "long"]
    searches_are_submitted_ahead: "submit_ahead";
    #[ignore = "long"]
    movers_meet_a_static_world: "static_world";
}

#[test]
fn a_liquid_conserves_its_energy_on_lists_that_are_reused() {
    let picture = concat!(env!("CARGO_TARGET_TMPDIR"), "/liquid.svg");
    run("liquid", &["300", "0.35", picture]);
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
}
