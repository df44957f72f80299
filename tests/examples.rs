//! Each example runs to its end, and checks its own results where it can. The gallery lists all of them.

#![cfg(feature = "gpu")]

use std::path::{Path, PathBuf};
use std::process::Command;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
/// The tests of folders that are not run here: a file, and a text in it.
const RUN_ELSEWHERE: [(&str, &str, &str); 6] = [
    ("avian", ".github/workflows/test.yml", "examples/avian"),
    ("ipctk", "python/tests/test_ipctk.py", r#""examples" / "ipctk""#),
    ("mujoco", "scripts/test.sh", "examples/mujoco/export.py"),
    ("newton", "scripts/python-engines.sh", "examples/newton/pile.py"),
    ("viewer", "examples/viewer/tests/viewer.rs", "broadsweep_viewer::"),
    ("web", ".github/workflows/test.yml", "scripts/check-web.sh"),
];

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
    #[ignore = "long"]
    robots_share_terrain: "robots";
}

#[test]
fn a_liquid_conserves_its_energy_on_lists_that_are_reused() {
    let picture = concat!(env!("CARGO_TARGET_TMPDIR"), "/liquid.svg");
    run("liquid", &["300", "0.35", picture]);
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
}

#[test]
fn a_city_is_rendered_into_a_picture() {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/picture.png");
    run("picture", &["2000", "64", path]);
    let mut reader = png::Decoder::new(std::io::Cursor::new(std::fs::read(path).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height, info.color_type), (64, 64, png::ColorType::Rgb));
    let sky = pixels.chunks(3).filter(|pixel| *pixel == [250, 250, 252]).count();
    assert!((1000..3000).contains(&sky), "{sky} of 4096 pixels are sky");
}

/// An example as the gallery shows it.
struct Row {
    /// The name of the file without its ending, or of the folder.
    name: String,
    source: PathBuf,
    picture: PathBuf,
    command: String,
}

/// Reads the rows of examples/README.md.
fn gallery() -> Vec<Row> {
    fn between<'a>(line: &'a str, start: &str, end: &str) -> &'a str {
        let found = line.split_once(start).and_then(|(_, tail)| tail.split_once(end));
        found.unwrap_or_else(|| panic!("examples/README.md: nothing between {start} and {end} in {line}")).0
    }
    let text = std::fs::read_to_string(Path::new(EXAMPLES).join("README.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| <img "));
    let row = |line| Row {
        name: between(line, "> | [", "]").to_owned(),
        source: Path::new(EXAMPLES).join(between(line, "](", ")")),
        picture: Path::new(EXAMPLES).join(between(line, "src=\"", "\"")),
        command: between(line, "<br>`", "`").to_owned(),
    };
    rows.map(row).collect()
}

/// Lists files and folders in examples/ but its README, by name without ending.
fn names() -> Vec<String> {
    let paths = std::fs::read_dir(EXAMPLES).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| !path.ends_with("README.md"));
    let mut names: Vec<String> = paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_gallery_has_a_row_for_each_example() {
    let mut listed: Vec<String> = gallery().into_iter().map(|row| row.name).collect();
    listed.sort();
    assert_eq!(listed, names());
}

#[test]
fn links_pictures_and_commands_of_the_gallery_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for Row { name, source, picture, command } in gallery() {
        assert!(picture.is_file(), "{name}: {}", picture.display());
        let text = std::fs::read_to_string(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        let words: Vec<&str> = command.split(' ').collect();
        for path in words.iter().filter(|word| word.contains('/')) {
            assert!(root.join(path).is_file(), "{name}: {path}");
        }
        let expected = match &words[..] {
            ["cargo", "run", .., "--example", example] => *example == name,
            ["cargo", "run", .., "-p", package] => {
                let manifest = std::fs::read_to_string(Path::new(EXAMPLES).join(&name).join("Cargo.toml")).unwrap();
                manifest.contains(&format!("name = \"{package}\""))
            }
            _ => words.iter().any(|word| word.contains('/') && word.contains(&name)),
        };
        assert!(expected, "{name}: {command}");
        // Its own documentation has the command too, with any arguments of a script.
        let start = if words[0] == "python" { words[..2].join(" ") } else { command };
        assert!(text.contains(&start), "{} does not have {start}", source.display());
    }
}

#[test]
fn a_test_runs_each_example() {
    let own = include_str!("examples.rs");
    for name in names() {
        let runs_here = own.contains(&format!(": \"{name}\"")) || own.contains(&format!("run(\"{name}\""));
        let elsewhere = RUN_ELSEWHERE.iter().find(|(folder, ..)| *folder == name);
        assert!(runs_here != elsewhere.is_some(), "{name} is run by no test, or has two entries");
        if let Some((_, test, text)) = elsewhere {
            let test = Path::new(env!("CARGO_MANIFEST_DIR")).join(test);
            assert!(std::fs::read_to_string(&test).unwrap().contains(text), "{} does not have {text}", test.display());
        }
    }
}
