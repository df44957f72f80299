//! The exit codes of the program, as `--help`, the man page and the README list them.

use std::fmt::Write as _;

/// Each code, and its meaning.
pub const ALL: [(&str, &str); 5] = [
    ("0", "Success. `--verify` and `doctor` found no difference."),
    ("1", "An error or a failed check, described in the last line of standard error."),
    ("2", "Wrong arguments. The command did not run."),
    ("128 + N", "Ended by signal N: 130 after Ctrl-C. `bench` keeps its results then."),
    ("141", "The reader closed standard output, as `head` does. Prints no error."),
];

/// Returns the list at the end of `--help`.
pub fn help() -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (code, meaning) in ALL {
        let _ = writeln!(text, "  {code:<8} {meaning}");
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_the_same_list() {
        let readme = include_str!("../README.md");
        for (code, meaning) in ALL {
            let row = format!("| {code} | {meaning} |");
            assert!(readme.contains(&row), "{row}");
        }
    }
}
