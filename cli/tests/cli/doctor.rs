//! `doctor`, `completions`, `man`, `--version`, exit codes, and standard error without a display.

use serde_json::Value;

use crate::place::{Place, last_line};

const EXIT_CODES: [&str; 5] = ["0", "1", "2", "128 + N", "141"];

/// Returns the commands that `--help` lists.
fn commands() -> Vec<String> {
    let help = Place::new().run("--help");
    let list = help.split_once("Commands:\n").unwrap().1;
    let names = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let names: Vec<String> = names.filter(|name| *name != "help").map(str::to_owned).collect();
    assert!(names.len() > 10 && names.contains(&"doctor".to_owned()), "{help}");
    names
}

/// Checks the parts of a report that do not depend on the machine, and returns the results of its tests.
fn check_report(report: &Value) -> Vec<(&str, &str)> {
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert!(report["features"].as_array().unwrap().contains(&"gpu".into()));
    assert!(report["wgpu"].as_str().unwrap().contains('.'));
    assert_eq!(
        (&report["system"]["os"], &report["system"]["arch"]),
        (&std::env::consts::OS.into(), &std::env::consts::ARCH.into())
    );
    assert!(report["system"]["threads"].as_u64().unwrap() > 0);
    for adapter in report["adapters"].as_array().unwrap() {
        assert!(["name", "type", "backend", "driver", "driver_info"].iter().all(|field| adapter[field].is_string()));
        let limits = adapter["limits"].as_object().unwrap();
        assert!(limits["max_buffer_size"].as_u64().unwrap() > 1 << 20 && limits.values().all(Value::is_u64));
        let features = adapter["features"].as_object().unwrap();
        assert!(features.contains_key("SUBGROUP") && features.values().all(Value::is_boolean), "{features:?}");
    }
    let default = &report["default"];
    assert_eq!(default["engine"] == "gpu", default["adapter"].is_object());
    assert_eq!(default["engine"] == "gpu", default["reason"].is_null());
    let tests = report["self_test"].as_array().unwrap();
    assert!(tests.iter().all(|test| test["test"].is_string() && test["seconds"].is_f64()));
    assert!(tests.iter().all(|test| test["reason"].is_null() == (test["result"] == "passed")));
    tests.iter().map(|test| (test["engine"].as_str().unwrap(), test["result"].as_str().unwrap())).collect()
}

#[test]
fn every_adapter_and_the_cpu_engine_pass_the_self_test() {
    let place = Place::new();
    let report: Value = serde_json::from_str(&place.run("doctor --json --limit 300")).unwrap();
    let results = check_report(&report);
    assert!(results.iter().all(|(_, result)| *result == "passed"), "{results:?}");
    assert_eq!(report["passed"], true);
    for adapter in report["adapters"].as_array().unwrap() {
        let name = adapter["name"].as_str().unwrap();
        assert!(results.iter().filter(|(engine, _)| engine.starts_with(name)).count() > 5, "{name}: {results:?}");
    }
    assert!(results.iter().filter(|(engine, _)| engine.starts_with("CPU")).count() > 5, "{results:?}");
}

#[test]
fn tests_beyond_the_limit_are_listed_as_not_run_and_are_a_failure() {
    let place = Place::new();
    let output = place.command("doctor --limit 0").output().unwrap();
    let line = last_line(&output, "doctor");
    assert!(
        line.contains("self-test: 0 failed, ") && line.contains(" not run. ") && line.contains("--limit"),
        "{line}"
    );
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(!report.contains("  passed "), "{report}");
    assert!(report.contains("  not run ") && report.contains(": the limit of 0 s was over"), "{report}");
    assert!(report.contains("\nresult      0 passed, 0 failed, "), "{report}");
    for part in
        ["broadsweep  ", "\nfeatures    ", "\nwgpu        ", "\nsystem      ", "\ndefault     ", "\n  reason   "]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn a_machine_without_an_adapter_passes_and_the_report_names_the_engine_that_is_not_tested() {
    let place = Place::new();
    let run = |arguments: &str| place.command(arguments).env("VK_DRIVER_FILES", "nowhere.json").output().unwrap();
    let adapters: Value = serde_json::from_slice(&run("adapters --json").stdout).unwrap();
    if !adapters.as_array().unwrap().is_empty() {
        return;
    }
    let output = run("doctor --limit 300");
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{report}");
    assert!(report.contains("adapter     none; the GPU engine is not tested"), "{report}");
    assert!(report.contains("no GPU adapter found") && report.contains(" 0 failed, 0 not run"), "{report}");
}

#[test]
fn one_adapter_can_be_named() {
    let place = Place::new();
    let line = place.fail("doctor --adapter nobody-has-this-one");
    assert!(line.contains("--adapter nobody-has-this-one: no GPU adapter found"), "{line}");
    let adapters: Value = serde_json::from_slice(&place.command("adapters --json").output().unwrap().stdout).unwrap();
    for adapter in adapters.as_array().unwrap() {
        let name = adapter["name"].as_str().unwrap();
        let mut command = place.command("doctor --json --limit 0 --adapter");
        let output = command.arg(name.to_uppercase()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut engines: Vec<&str> = check_report(&report).into_iter().map(|(engine, _)| engine).collect();
        engines.dedup();
        assert!(engines.len() == 2 && engines[1].starts_with(name), "{name}: {engines:?}");
    }
}

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

#[test]
fn every_shell_has_completions_that_name_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.run(&format!("completions {shell}"));
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
        // A character that a terminal would obey is written as a number, which no shell reads.
        assert!(script.contains("broadsweep") && !script.contains("\\u00"), "{shell}: {script}");
    }
}

#[test]
fn the_man_page_has_every_command_with_its_options_and_the_exit_codes() {
    let page = Place::new().run("man");
    for command in commands() {
        assert!(page.contains(&format!("\n.SH \"broadsweep {command}\"\n")), "{command}: {page}");
    }
    for option in ["\\-\\-verify", "\\-\\-memory\\-budget", "\\-\\-limit"] {
        assert!(page.contains(option), "{option}: {page}");
    }
    let status = page.split_once(".SH \"EXIT STATUS\"").unwrap().1;
    assert!(EXIT_CODES.iter().all(|code| status.contains(&format!("\\fB{code}\\fR"))), "{status}");
    assert!(!page.contains("\\u00"), "{page}");
}

#[test]
fn help_lists_the_exit_codes() {
    for arguments in ["-h", "--help"] {
        let help = Place::new().run(arguments);
        let list = help.split_once("Exit codes:\n").unwrap().1;
        let code = |line: &str| line.strip_prefix("  ")?.split_once("  ").map(|(code, _)| code.to_owned());
        let codes: Vec<String> = list.lines().filter_map(code).filter(|code| !code.is_empty()).collect();
        assert_eq!(codes, EXIT_CODES, "{help}");
    }
}

/// The exit code 141 has a test in `commands`, that of `bench` after Ctrl-C one in `bench`.
#[cfg(unix)]
#[test]
fn each_exit_code_has_the_meaning_that_the_help_gives() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    let place = Place::new();
    let code = |arguments: &str| place.command(arguments).output().unwrap().status.code();
    assert_eq!(code("scene uniform --n 10 --out scene.npy"), Some(0));
    assert_eq!(code("pairs nowhere.npy"), Some(1));
    assert_eq!(code("pairs"), Some(2));
    let mut command = place.command("pairs - --engine cpu");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_display_nothing_looks_like_an_error() {
    use std::os::unix::process::CommandExt;

    let place = Place::new();
    for value in [None, Some(""), Some("relative"), Some("/no/such/folder")] {
        let mut command = place.command("");
        // The variable with which the other tests silence a layer of Mesa.
        command.env_remove("NODEVICE_SELECT").env_remove("XDG_RUNTIME_DIR").arg0("its-name");
        if let Some(value) = value {
            command.env("XDG_RUNTIME_DIR", value);
        }
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && !stderr.lines().any(|line| line.starts_with("error:")),
            "{value:?}: {stderr}"
        );
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.contains("  its-name pairs scene.npy "), "{stdout}");
    }
}
