//! `broadsweep bench` in a build without it: charts and their font take long to compile, and nothing else needs them.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::BENCH;

/// Measure engines side by side: in a build with `--features broadsweep-cli/bench`
///
/// From the source: cargo run --release --features broadsweep-cli/bench -- bench
#[derive(clap::Args)]
pub struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

/// Says how to get the benchmark.
pub fn run(_: &Args) -> Result<ExitCode> {
    bail!("this build has no benchmark; compile and run it with: {BENCH}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn any_arguments_name_the_build_that_has_the_benchmark() {
        for arguments in [&["bench"][..], &["bench", "usscd", "--quick"], &["bench", "--scenes", "uniform", "--n", "3"]]
        {
            let program = Program::try_parse_from(arguments).unwrap();
            assert!(run(&program.args).unwrap_err().to_string().contains(BENCH));
        }
        let help = Program::try_parse_from(["bench", "--help"]).err().unwrap().to_string();
        assert!(help.contains(BENCH), "{help}");
    }
}
