//! Where the binary runs.

use std::fs;
use std::io::Write;
#[cfg(unix)]
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory of its own for each test, and the binary run in it.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadsweep"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace()).stdin(Stdio::null());
        // A validation layer that the tests run under may write to standard output.
        command.env_remove("VK_INSTANCE_LAYERS");
        // Mesa's layer that selects a device writes to standard error where there is no display.
        command.env("NODEVICE_SELECT", "1");
        command
    }

    /// Runs it for a second, interrupts it as Ctrl-C does, expects that it says so by its exit code, and gives standard
    /// output.
    #[cfg(unix)]
    pub fn interrupt(&self, mut command: Command) -> String {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        // It prints nothing before it catches the signal.
        stdout.read_line(&mut said).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(1));
        let killed = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status().unwrap();
        assert!(killed.success());
        stdout.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        said
    }

    /// Runs it, expects success and quiet on standard error, and gives standard output.
    pub fn run(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {stderr}");
        assert_eq!(stderr, "", "{arguments}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it, expects one line on standard error and nothing else, and gives the line.
    pub fn fail(&self, arguments: &str) -> String {
        one_line(&self.command(arguments).output().unwrap(), arguments)
    }

    /// Runs it, expects one line on standard error after whatever was printed, and gives the line.
    pub fn fail_late(&self, arguments: &str) -> String {
        last_line(&self.command(arguments).output().unwrap(), arguments)
    }

    /// Runs it on `input`.
    pub fn pipe(&self, arguments: &str, input: &[u8]) -> Output {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A process that refuses its input closes the pipe.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }
}

/// Returns the line on standard error of a run that failed and printed nothing.
pub fn one_line(output: &Output, what: &str) -> String {
    assert_eq!(output.stdout, b"", "{what}");
    last_line(output, what)
}

/// Returns the line on standard error of a run that failed.
pub fn last_line(output: &Output, what: &str) -> String {
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{what}: {stderr}");
    assert!(stderr.starts_with("error: ") && stderr.ends_with('\n'), "{what}: {stderr:?}");
    assert_eq!(stderr.lines().count(), 1, "{what}: {stderr}");
    assert!(stderr.len() < 500, "{what}: {stderr}");
    stderr
}
