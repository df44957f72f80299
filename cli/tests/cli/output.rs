//! Files that are written whole or not at all, whatever ends the run, and what is said of them.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::place::{Place, last_line, one_line};

/// Runs the binary from a shell: `before`, and then the binary with these arguments and whatever follows them.
fn run_in_shell(place: &Place, before: &str, arguments: &str, after: &str) -> Output {
    let own = place.command("");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec \"$0\" {arguments} {after}")]).arg(own.get_program());
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(place.path("")).output().unwrap()
}

/// Waits until a process has begun to write to a file in its place, and tells whether that file has no name.
#[cfg(target_os = "linux")]
fn wait_for_writing(place: &Place, process: u32) -> bool {
    use std::time::{Duration, Instant};

    let folder = format!("/proc/{process}/fd");
    let start = Instant::now();
    let begun = || {
        fs::read_dir(&folder).ok()?.flatten().find_map(|file| {
            let path = fs::read_link(file.path()).ok().filter(|path| path.starts_with(place.path("")))?;
            let is_begun = fs::metadata(file.path()).is_ok_and(|file| file.len() > 0);
            is_begun.then(|| path.to_string_lossy().ends_with("(deleted)"))
        })
    };
    loop {
        if let Some(is_unnamed) = begun() {
            return is_unnamed;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "nothing was written");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns whether the tests were started to ignore a signal, as `nohup` does, and what they start with them.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[cfg(target_os = "linux")]
#[test]
fn no_signal_leaves_a_file_behind_or_touches_an_older_one() {
    use std::os::unix::process::ExitStatusExt;

    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("KILL", 9)] {
        let place = Place::new();
        place.write("scene.npy", b"older");
        let mut command = place.command("scene uniform --n 8000000 --out scene.npy");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_unnamed = wait_for_writing(&place, child.id());
        Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status().unwrap();
        let status = child.wait().unwrap();
        if is_ignored(number) {
            assert!(status.success() && place.read("scene.npy").len() > 5, "{name}");
            continue;
        }
        assert_eq!(status.signal(), Some(number), "{name}");
        assert_eq!(place.read("scene.npy"), b"older", "{name}");
        // A file system without such files has a file with a name, which nobody can remove after SIGKILL.
        if is_unnamed || name != "KILL" {
            assert_eq!(place.names(), ["scene.npy"], "{name}");
        }
    }
}

#[test]
fn a_file_that_grows_past_what_the_system_allows_gets_one_clear_line() {
    let place = Place::new();
    place.write("scene.npy", b"older");
    let output = run_in_shell(&place, "ulimit -f 8;", "scene uniform --n 100000 --out scene.npy", "");
    let line = one_line(&output, "ulimit -f");
    assert!(line.contains("cannot write") && line.contains("too large"), "{line}");
    assert_eq!(place.names(), ["scene.npy"]);
    assert_eq!(place.read("scene.npy"), b"older");
}

#[test]
fn links_are_written_through_to_whatever_they_lead() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).unwrap();
    for (target, link) in [
        ("new.npy", "dangling"),
        ("folder/new.npy", "into_folder"),
        ("into_folder", "chain"),
        ("folder", "to_folder"),
        ("no/where.npy", "nowhere"),
        ("loop_b", "loop_a"),
        ("loop_a", "loop_b"),
    ] {
        symlink(target, place.path(link)).unwrap();
    }
    symlink("../up.npy", place.path("folder/up")).unwrap();
    for (n, out, file) in [
        (11, "dangling", "new.npy"),
        (12, "dangling", "new.npy"),
        (13, "chain", "folder/new.npy"),
        (14, "into_folder", "folder/new.npy"),
        (15, "folder/up", "up.npy"),
        (16, "to_folder/up", "up.npy"),
        (17, "to_folder/other.npy", "folder/other.npy"),
    ] {
        place.run(&format!("scene uniform --n {n} --out {out}"));
        assert_eq!(place.read(file).len(), 128 + n * 24, "{out}");
        assert!(!fs::symlink_metadata(place.path(file)).unwrap().is_symlink());
    }
    for link in ["dangling", "chain", "into_folder", "to_folder", "folder/up"] {
        assert!(fs::symlink_metadata(place.path(link)).unwrap().is_symlink(), "{link}");
    }
    for (out, expected) in
        [("to_folder", "it is a directory"), ("nowhere", "there is no directory"), ("loop_a", "symbolic links")]
    {
        let line = place.fail(&format!("scene uniform --n 10 --out {out}"));
        assert!(line.contains(&format!("cannot write {out}")) && line.contains(expected), "{line}");
    }
    // The scene itself, by another name.
    let line = place.fail("pairs new.npy --engine cpu --out dangling");
    assert!(line.contains("--out is the scene itself"), "{line}");
}

#[test]
fn a_closed_standard_output_is_an_error_before_any_work_and_a_null_device_is_not() {
    let place = Place::new();
    place.run("scene uniform --n 100 --out scene.npy");
    for arguments in [
        "scene uniform --n 10 --out -",
        "pairs scene.npy --engine cpu --out -",
        "pairs scene.npy --engine cpu --out /dev/stdout",
        "pairs nowhere.npy --engine cpu --by-world -",
    ] {
        let line = one_line(&run_in_shell(&place, "", arguments, ">&-"), arguments);
        assert!(line.contains("standard output is closed"), "{line}");
    }
    for after in [">/dev/null", ">>/dev/null"] {
        assert!(run_in_shell(&place, "", "pairs scene.npy --engine cpu --out -", after).status.success());
    }
}

#[test]
fn no_name_of_a_file_commands_the_terminal() {
    let place = Place::new();
    let name = "a\u{1b}[31m\u{9b}b\u{7f}.npy";
    place.run("scene uniform --n 100 --out scene.npy");
    fs::rename(place.path("scene.npy"), place.path(name)).unwrap();
    let run = |arguments: &[&str]| place.command("").args(arguments).output().unwrap();
    let is_clean = |output: &Output| {
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
        // Messages on invalid arguments have no sequences that look like a colour.
        let expected = if output.status.code() == Some(2) { "a\\u009bb" } else { "a\\u001b[31m\\u009bb\\u007f" };
        assert!(said.contains(expected), "{said}");
    };
    let out = name.replace('a', "xa");
    for arguments in [
        &["pairs", name, "--engine", "cpu", "--out", &out][..],
        &["pairs", name, "--engine", "cpu", "--json"],
        &["pairs", name, "--engine", "cpu", "--out", name],
        &["pairs", name, "--engine", name],
        &["pairs", name, "--adapter", name],
        &["scene", "uniform", "--n", "10", "--out", &out],
        &["scene", "uniform", "--n", "10", "--out", &format!("no/{name}")],
    ] {
        is_clean(&run(arguments));
    }
    let json = run(&["pairs", name, "--engine", "cpu", "--json"]).stdout;
    assert_eq!(serde_json::from_slice::<Value>(&json).unwrap()["scene"], name);
    let missing = run(&["pairs", &format!("no{name}")]);
    is_clean(&missing);
    assert!(last_line(&missing, name).contains("cannot read"));
    // To standard output goes the array, and the report elsewhere.
    let output = run(&["pairs", name, "--engine", "cpu", "--out", "-"]);
    is_clean(&Output { stdout: Vec::new(), ..output });
}
