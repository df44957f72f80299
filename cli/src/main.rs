//! `broadsweep`: every overlapping pair among the boxes of a `.npy` or `.npz` file, from the command line.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adapters;
mod advice;
#[cfg(feature = "bench")]
mod bench;
mod choices;
mod doctor;
mod engine;
mod exit_codes;
mod filters;
mod frames;
mod input;
mod join;
#[cfg(any(not(feature = "bench"), test))]
mod no_bench;
mod npz;
mod output;
mod pages;
mod pairs;
mod predict;
mod progress;
mod queries;
mod ready;
mod report;
#[cfg(target_os = "linux")]
mod runtime_directory;
mod sample;
mod scene;
mod stream;
mod temporary;
mod text;
mod verify;
mod version;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
#[cfg(not(feature = "bench"))]
use no_bench as bench;

/// Compiles and runs the benchmark, which is no part of every build.
const BENCH: &str = "cargo run --release --features broadsweep-cli/bench -- bench";

use output::say;

/// Find every overlapping pair among millions of axis-aligned boxes, on the GPU or on all CPU cores.
///
/// Without a command, it generates a sample scene, finds its pairs and verifies them.
#[derive(Parser)]
#[command(name = "broadsweep", version, long_version = version::long(), after_help = exit_codes::help())]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Pairs(pairs::Args),
    Join(join::Args),
    Frames(frames::Args),
    Rays(queries::rays::Args),
    Overlaps(queries::overlaps::Args),
    Nearest(queries::nearest::Args),
    Scene(scene::Args),
    Adapters(adapters::Args),
    Doctor(doctor::Args),
    Predict(predict::Args),
    Bench(bench::Args),
    Completions(pages::CompletionsArgs),
    Man(pages::ManArgs),
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(wrong) => return refuse(&wrong),
    };
    #[cfg(target_os = "linux")]
    runtime_directory::ensure_set();
    temporary::report_full_files();
    // A benchmark handles signals itself.
    if !matches!(args.command, Some(Command::Bench(_))) {
        temporary::remove_on_signals();
    }
    let result = match args.command {
        None => sample::run(),
        Some(Command::Pairs(args)) => pairs::run(&args),
        Some(Command::Join(args)) => join::run(&args),
        Some(Command::Frames(args)) => frames::run(&args),
        Some(Command::Rays(args)) => queries::rays::run(&args),
        Some(Command::Overlaps(args)) => queries::overlaps::run(&args),
        Some(Command::Nearest(args)) => queries::nearest::run(&args),
        Some(Command::Scene(args)) => scene::run(&args),
        Some(Command::Adapters(args)) => adapters::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Predict(args)) => predict::run(&args),
        Some(Command::Completions(args)) => pages::print_completions(&args),
        Some(Command::Man(_)) => pages::print_man(),
        Some(Command::Bench(args)) => return bench::run(&args).unwrap_or_else(|error| fail(&error)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Prints what is wrong with the arguments on standard error; `--help` and `--version` come here too, and go to
/// standard output.
fn refuse(wrong: &clap::Error) -> ExitCode {
    let code = ExitCode::from(wrong.exit_code() as u8);
    let is_printable = |argument: std::ffi::OsString| {
        let argument = argument.to_string_lossy();
        text::printable(&argument) == argument
    };
    if wrong.use_stderr() && !std::env::args_os().all(is_printable) {
        // Without colours, which cannot be told from what an argument brings.
        let _ = io::stderr().write_all(text::printable_lines(&wrong.render().to_string()).as_bytes());
        return code;
    }
    wrong.print().map_or_else(|error| fail(&error.into()), |()| code)
}

/// Prints an error as one line on standard error, and returns a code that is not zero.
fn fail(error: &anyhow::Error) -> ExitCode {
    let is_closed_pipe = error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe));
    if is_closed_pipe {
        // The reader has seen enough, as in `| head`. 128 + SIGPIPE is what a shell reports of others.
        return ExitCode::from(141);
    }
    say(&format!("error: {}", advice::line(error)));
    ExitCode::FAILURE
}
