//! `broadsweep bench usscd`, from its arguments to its files.

use crate::place::Place;

#[test]
fn every_experiment_leaves_its_rows_and_figures() {
    let place = Place::new();
    place.run("bench usscd --quick --steps 3 --engines usscd,scd,i_collide,cpu --out a/b");
    for figure in ["figure-3a", "figure-3b", "figure-4a", "figure-4b"] {
        assert!(place.read(&format!("a/b/{figure}.png")).starts_with(b"\x89PNG"));
        let svg = place.text(&format!("a/b/{figure}.svg"));
        assert!(svg.contains("USSCD") && svg.contains("broadsweep, CPU") && !svg.contains("GPU"), "{figure}");
    }
    let csv = place.text("a/b/usscd.csv");
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
        assert!(setting.iter().all(|row| row[column("steps")] == "3"));
    }
    assert!(rows.iter().any(|row| row[column("pairs")] != "0"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_the_measurements_and_names_the_file() {
    let place = Place::new();
    let arguments = "bench usscd --quick --steps 4000000000 --seconds 1e9 --engines scd,cpu --out out";
    // Some calls of the first setting.
    let said = place.interrupt(place.command(arguments));
    let csv = std::path::Path::new("out").join("usscd.csv");
    assert!(said.contains(&format!("written: {}", csv.display())), "{said}");
    assert_eq!(place.text("out/usscd.csv").lines().count(), 1 + 2);
    assert_eq!(place.names(), ["out"]);
}

#[cfg(feature = "peers")]
#[test]
fn another_library_is_refused() {
    let line = Place::new().fail("bench usscd --engines cpu,parry");
    assert!(line.contains("takes exact engines only, and parry is another library"), "{line}");
}
