//! `broadsweep`: every overlapping pair among the boxes of a `.npy` or `.npz` file, from the command line.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adapters;
#[cfg(feature = "bench")]
mod bench;
mod engine;
mod filters;
#[cfg(any(not(feature = "bench"), test))]
mod no_bench;
mod npz;
mod output;
mod pairs;
mod progress;
mod report;
mod sample;
mod scene;
mod stream;
mod text;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
#[cfg(not(feature = "bench"))]
use no_bench as bench;

/// Compiles and runs the benchmark, which is no part of every build.
const BENCH: &str = "cargo run --release --features broadsweep-cli/bench -- bench";

/// Find every overlapping pair among millions of axis-aligned boxes, on the GPU.
///
/// Without a command, a sample scene is made and its pairs are found and verified.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Pairs(pairs::Args),
    Scene(scene::Args),
    Adapters(adapters::Args),
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(wrong) => {
            // --help and --version come here too, and go to standard output.
            return match wrong.print() {
                Ok(()) => ExitCode::from(wrong.exit_code() as u8),
                Err(error) => fail(&error.into()),
            };
        }
    };
    let result = match args.command {
        None => sample::run(),
        Some(Command::Pairs(args)) => pairs::run(&args),
        Some(Command::Scene(args)) => scene::run(&args),
        Some(Command::Adapters(args)) => adapters::run(&args),
        Some(Command::Bench(args)) => return bench::run(&args).unwrap_or_else(|error| fail(&error)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// One line on standard error, and a code that is not zero.
fn fail(error: &anyhow::Error) -> ExitCode {
    let is_closed_pipe = error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe));
    if is_closed_pipe {
        // The reader has seen enough, as in `| head`. 128 + SIGPIPE is what a shell reports of others.
        return ExitCode::from(141);
    }
    say(&format!("error: {error:#}"));
    ExitCode::FAILURE
}

/// A line on standard error. Where that is closed or full there is nobody left to tell.
fn say(message: &str) {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(io::stderr(), "{line}");
}
