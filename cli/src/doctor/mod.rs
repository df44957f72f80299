//! `broadsweep doctor`: the content of a bug report.

mod adapters;
mod checks;
mod self_test;
mod system;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use broadsweep::Error;
use broadsweep::wgpu::Adapter;
use laboratory::adapter;
use laboratory::engine::timed;
use serde_json::{Value, json};

use self::self_test::{Outcome, Subject};
use self::system::System;
use crate::output::print;
use crate::progress::Progress;
use crate::ready::Ready;
use crate::{text, version};

/// Print the content of a bug report: versions, adapters, limits, and a test of each engine
///
/// The pairs, events and query answers of the GPU engine on each adapter are compared with those of the CPU engine, and
/// those of the CPU engine with brute force. The command fails if a test fails or is not run. It also works without an
/// adapter.
#[derive(clap::Args)]
pub struct Args {
    /// Test only the first adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The time limit for the tests of each engine; the remaining tests are reported as not run
    ///
    /// In the first run, drivers also compile the kernels, which takes longer.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    limit: u32,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Everything that is reported.
struct Report {
    system: System,
    adapters: Vec<Adapter>,
    /// The engine that other commands choose, and the reason if that is not the GPU.
    default: Result<(Ready, Option<String>)>,
    outcomes: Vec<Outcome>,
    seconds: f64,
}

/// Runs `broadsweep doctor`.
pub fn run(args: &Args) -> Result<()> {
    let progress = Progress::start("looking for adapters".to_owned());
    // A driver may keep these from ending, too.
    let patience = Duration::from_secs(60);
    let adapters = self_test::within(patience, adapters::list).context("the adapters could not be listed")?;
    let subjects = subjects(&adapters, args.adapter.as_deref())?;
    let default = self_test::within(patience, Ready::preferred);
    drop(progress);
    let limit = Duration::from_secs(args.limit.into());
    let (outcomes, seconds) = timed(|| self_test::run(subjects, limit));
    let report = Report { system: System::read(), adapters, default, outcomes, seconds };
    print(&if args.json { format!("{}\n", report.json()) } else { report.lines() })?;
    let (failed, not_run) = (report.count("failed"), report.count("not run"));
    let advice = match not_run > 0 {
        true => ". In the first run, drivers also compile the kernels: repeat it, or raise --limit",
        false => "",
    };
    ensure!(failed + not_run == 0, "self-test: {failed} failed, {not_run} not run{advice}");
    report.default.map(|_| ()).context("no engine could be chosen")
}

/// Returns the engines to test.
fn subjects(adapters: &[Adapter], name: Option<&str>) -> Result<Vec<Subject>> {
    let mut tested = adapters.to_vec();
    if let Some(name) = name {
        tested.retain(|adapter| adapter.get_info().name.to_lowercase().contains(&name.to_lowercase()));
        tested.truncate(1);
        let reason = format!("no adapter's name contains '{name}'");
        let found = if tested.is_empty() { Err(Error::NoAdapter { reason, cause: None }) } else { Ok(()) };
        found.with_context(|| format!("--adapter {name}"))?;
    }
    let on = |adapter: Adapter| {
        let name = adapter::line(&adapter.get_info());
        Subject::Gpu(name, Box::new(move || adapters::open(&adapter)))
    };
    Ok([Subject::Cpu].into_iter().chain(tested.into_iter().map(on)).collect())
}

impl Report {
    fn count(&self, word: &str) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.verdict.word() == word).count()
    }

    /// Returns lines for a person.
    fn lines(&self) -> String {
        let (engine, reason) = match &self.default {
            Ok((engine, reason)) => {
                (engine.describe(), reason.clone().unwrap_or("it is a GPU, not a software driver".to_owned()))
            }
            Err(error) => ("none".to_owned(), error.to_string()),
        };
        let adapters = match self.adapters.is_empty() {
            true => "adapter     none; the GPU engine is not tested\n".to_owned(),
            false => self.adapters.iter().map(adapters::lines).collect(),
        };
        let [passed, failed, not_run] = ["passed", "failed", "not run"].map(|word| self.count(word));
        format!(
            "broadsweep  {}\nfeatures    {}\nwgpu        {} in Cargo.lock\n{}{adapters}default     {}\n  reason   {reason}\n{}\
             result      {passed} passed, {failed} failed, {not_run} not run, in {}\n",
            version::OWN,
            version::features().join(", "),
            adapter::WGPU_VERSION,
            self.system.lines(),
            engine,
            self_test::lines(&self.outcomes),
            text::seconds(self.seconds),
        )
    }

    /// Returns one object.
    fn json(&self) -> Value {
        let (engine, adapter, reason) = match &self.default {
            Ok((Ready::Gpu(gpu), reason)) => {
                (Some("gpu"), Some(crate::adapters::json(&gpu.adapter_info())), reason.clone())
            }
            Ok((engine, reason)) => (Some(engine.engine().name()), None, reason.clone()),
            Err(error) => (None, None, Some(error.to_string())),
        };
        json!({
            "version": version::OWN,
            "features": version::features(),
            "wgpu": adapter::WGPU_VERSION,
            "system": self.system.json(),
            "adapters": self.adapters.iter().map(adapters::json).collect::<Vec<Value>>(),
            "default": { "engine": engine, "adapter": adapter, "reason": reason },
            "self_test": self_test::json(&self.outcomes),
            "passed": self.count("passed") == self.outcomes.len(),
            "seconds": self.seconds,
        })
    }
}
