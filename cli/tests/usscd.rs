//! `broadsweep bench usscd`, from its arguments to its files.

use std::fs;
use std::process::Command;

#[test]
fn every_experiment_leaves_its_rows_and_figures() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadsweep"));
    command.current_dir(place.path()).env_remove("VK_INSTANCE_LAYERS");
    command.args("bench usscd --quick --frames 3 --engines usscd,scd,i_collide,cpu --out a/b".split_whitespace());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let out = place.path().join("a/b");
    for figure in ["figure-3a", "figure-3b", "figure-4a", "figure-4b"] {
        assert!(fs::read(out.join(format!("{figure}.png"))).unwrap().starts_with(b"\x89PNG"));
        let svg = fs::read_to_string(out.join(format!("{figure}.svg"))).unwrap();
        assert!(svg.contains("USSCD") && svg.contains("broadsweep, CPU") && !svg.contains("GPU"), "{figure}");
    }
    let csv = fs::read_to_string(out.join("usscd.csv")).unwrap();
    // The device is quoted, and has commas.
    let unquoted: Vec<String> = csv.lines().map(|line| line.split('"').step_by(2).collect()).collect();
    let mut lines = unquoted.iter().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let rows: Vec<_> = lines.collect();
    assert!(rows.iter().all(|row| row.len() == header.len()));
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    // Three experiments of two settings, and every engine in each with the same pairs.
    assert_eq!(rows.len(), 3 * 2 * 4);
    for setting in rows.chunks(4) {
        assert_eq!([0, 1, 2, 3].map(|i| setting[i][column("engine")]), ["usscd", "scd", "i_collide", "cpu"]);
        assert!(setting.iter().all(|row| row[column("pairs")] == setting[0][column("pairs")]));
        assert!(setting.iter().all(|row| row[column("frames")] == "3"));
    }
    assert!(rows.iter().any(|row| row[column("pairs")] != "0"));
}
