//! Runs the checks on each engine, within a time limit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use broadsweep::Gpu;
use laboratory::engine::{Engine, timed};
use serde_json::{Value, json};

use super::checks::Check;
use crate::ready::Ready;
use crate::{advice, text};

/// The first test of an adapter.
const DEVICE: &str = "a device";

/// An engine to test.
pub enum Subject {
    /// The CPU engine.
    Cpu,
    /// The GPU engine on an adapter, by its name, and the request for a device.
    Gpu(String, Box<dyn FnOnce() -> Result<Gpu> + Send>),
}

/// The result of a test.
pub enum Verdict {
    /// The results are equal.
    Passed,
    /// The results differ, or an engine fails, for this reason.
    Failed(String),
    /// The test was not run or not finished, for this reason.
    NotRun(String),
}

/// A test, and its result.
pub struct Outcome {
    /// The engine.
    subject: String,
    test: String,
    pub verdict: Verdict,
    seconds: f64,
}

impl Subject {
    fn name(&self) -> String {
        match self {
            Self::Cpu => "CPU, compared with brute force".to_owned(),
            Self::Gpu(adapter, _) => format!("{adapter}, compared with the CPU"),
        }
    }

    fn tests(&self) -> Vec<String> {
        let device = matches!(self, Self::Gpu(..)).then(|| DEVICE.to_owned());
        device.into_iter().chain(Check::all().iter().map(Check::name)).collect()
    }

    /// Runs the tests in their order until time is over, and sends the verdict on each. Without a device it ends early.
    fn run(self, end: Instant, to: &Sender<(Verdict, f64)>) {
        let send = |(result, seconds): (Result<()>, f64)| {
            let verdict = result.map_or_else(|error| Verdict::Failed(advice::line(&error)), |()| Verdict::Passed);
            // After the limit, there is no receiver.
            let _ = to.send((verdict, seconds));
        };
        let engine = match self {
            Self::Cpu => Ready::Other(Engine::Cpu),
            Self::Gpu(_, open) => {
                let (opened, seconds) = timed(|| caught(open));
                match opened {
                    Ok(gpu) => {
                        send((Ok(()), seconds));
                        Ready::Gpu(gpu)
                    }
                    Err(error) => return send((Err(error), seconds)),
                }
            }
        };
        for check in Check::all().iter().take_while(|_| Instant::now() < end) {
            send(timed(|| caught(|| check.run(&engine))));
        }
    }
}

/// Turns a panic into an error: wgpu panics at an error that it cannot return. Rust's message about the panic, with the
/// source line, goes to standard error.
fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of an unknown kind");
        Err(anyhow!("panic: {message}"))
    })
}

/// Runs work that a driver may keep from ending, or that may panic.
pub fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    // After the limit, there is no receiver.
    thread::spawn(move || _ = sender.send(caught(|| Ok(work()))));
    receiver.recv_timeout(limit).map_err(|_| anyhow!("no answer in {} s", limit.as_secs()))?
}

/// Tests each engine in turn. The tests of an engine that do not fit the limit are not run; one that does not end is
/// abandoned.
pub fn run(subjects: Vec<Subject>, limit: Duration) -> Vec<Outcome> {
    subjects.into_iter().flat_map(|subject| run_on(subject, limit)).collect()
}

fn run_on(subject: Subject, limit: Duration) -> Vec<Outcome> {
    let end = Instant::now() + limit;
    let (name, tests) = (subject.name(), subject.tests());
    let (sender, receiver) = mpsc::channel();
    if Instant::now() < end {
        thread::spawn(move || subject.run(end, &sender));
    } else {
        drop(sender);
    }
    let received = |test| {
        let start = Instant::now();
        let (verdict, seconds) = receiver.recv_timeout(end.saturating_duration_since(start)).unwrap_or_else(|reason| {
            let reason = match reason {
                RecvTimeoutError::Disconnected if Instant::now() < end => "there is no device".to_owned(),
                _ => format!("the limit of {} s was over", limit.as_secs()),
            };
            (Verdict::NotRun(reason), start.elapsed().as_secs_f64())
        });
        Outcome { subject: name.clone(), test, verdict, seconds }
    };
    tests.into_iter().map(received).collect()
}

/// Returns a line for each test, under the name of its engine.
pub fn lines(outcomes: &[Outcome]) -> String {
    let mut lines = String::new();
    for engine in outcomes.chunk_by(|a, b| a.subject == b.subject) {
        lines += &format!("self-test   {}\n", engine[0].subject);
        for Outcome { test, verdict, seconds, .. } in engine {
            let (word, reason) = verdict.parts();
            let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
            lines += &format!("  {word:<9} {:>9}  {test}{reason}\n", text::seconds(*seconds));
        }
    }
    lines
}

/// Returns one object for each test.
pub fn json(outcomes: &[Outcome]) -> Value {
    let object = |Outcome { subject, test, verdict, seconds }: &Outcome| {
        let (word, reason) = verdict.parts();
        json!({ "engine": subject, "test": test, "result": word, "reason": reason, "seconds": seconds })
    };
    outcomes.iter().map(object).collect()
}

impl Verdict {
    /// Returns the verdict in a word.
    pub fn word(&self) -> &'static str {
        self.parts().0
    }

    fn parts(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Passed => ("passed", None),
            Self::Failed(reason) => ("failed", Some(reason)),
            Self::NotRun(reason) => ("not run", Some(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        let error = caught(|| -> Result<()> { panic!("the driver {}", "broke") }).unwrap_err();
        assert_eq!(error.to_string(), "panic: the driver broke");
    }

    #[test]
    fn an_adapter_that_refuses_a_device_fails_and_the_other_tests_are_listed() {
        let refuse = Box::new(|| Err(anyhow!("not enough memory left")));
        let outcomes = run(vec![Subject::Gpu("an adapter".to_owned(), refuse)], Duration::from_secs(60));
        assert!(matches!(&outcomes[0].verdict, Verdict::Failed(reason) if reason == "not enough memory left"));
        assert_eq!(outcomes.len(), 1 + Check::all().len());
        for outcome in &outcomes[1..] {
            assert!(matches!(&outcome.verdict, Verdict::NotRun(reason) if reason == "there is no device"));
        }
    }

    #[test]
    fn work_that_does_not_end_or_panics_is_an_error() {
        let ten_ms = Duration::from_millis(10);
        assert_eq!(within(Duration::from_secs(60), || 3).unwrap(), 3);
        assert!(
            within(ten_ms, || thread::sleep(Duration::from_secs(1))).unwrap_err().to_string().starts_with("no answer")
        );
        assert_eq!(
            within(Duration::from_secs(60), || panic!("broke")).map(|()| 0).unwrap_err().to_string(),
            "panic: broke"
        );
    }

    #[test]
    fn after_the_limit_no_test_is_run_and_each_is_listed() {
        let outcomes = run(vec![Subject::Cpu], Duration::ZERO);
        assert_eq!(outcomes.len(), Check::all().len());
        for outcome in outcomes {
            assert!(matches!(outcome.verdict, Verdict::NotRun(reason) if reason == "the limit of 0 s was over"));
        }
    }
}
