//! `broadsweep bench`.

#[cfg_attr(not(test), expect(dead_code, reason = "what is measured comes next"))]
pub mod plot;
pub mod usscd;

use anyhow::{Result, bail};

/// Measure engines side by side
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    experiment: Option<Experiment>,
}

/// What is measured in its own way.
#[derive(clap::Subcommand)]
enum Experiment {
    Usscd(usscd::Args),
}

/// Runs `broadsweep bench`.
pub fn run(args: &Args) -> Result<()> {
    match &args.experiment {
        None => bail!("name an experiment"),
        Some(Experiment::Usscd(args)) => usscd::run(args),
    }
}
