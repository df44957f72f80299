//! Answerers side by side.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::{Answerer, Answers, QueryBatch};
use crate::measure::time::Time;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Calls that count, after one that does not.
    pub runs: usize,
    /// Milliseconds of one call, above which no further one is made, and that one counts.
    pub limit_ms: f64,
}

/// A call that is timed.
pub type Call<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// Times some calls in turn, so that whatever disturbs one disturbs all; another begins each time.
///
/// # Errors
/// The errors of the calls.
pub fn in_turn(effort: Effort, calls: &mut [Call]) -> Result<Vec<Time>> {
    ensure!(effort.runs > 0, "a call that is never made has no time");
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); calls.len()];
    let mut is_long = vec![false; calls.len()];
    for run in 0..=effort.runs {
        for turn in 0..calls.len() {
            let at = (turn + run) % calls.len();
            if is_long[at] {
                continue;
            }
            let start = Instant::now();
            calls[at]()?;
            let ms = start.elapsed().as_secs_f64() * 1e3;
            is_long[at] = ms > effort.limit_ms;
            if run > 0 || is_long[at] {
                times[at].push(ms);
            }
        }
    }
    Ok(times.into_iter().filter_map(Time::of).collect())
}

/// An answerer in a race, which has been built.
pub struct Lane {
    /// The name of the answerer.
    pub name: &'static str,
    /// The answerer.
    pub answerer: Box<dyn Answerer>,
}

/// The outcome of a batch for one answerer.
#[derive(Clone, Debug)]
pub struct Lap {
    /// The name of the answerer.
    pub name: &'static str,
    /// The time of its calls.
    pub time: Time,
    /// The answers to all queries.
    pub answer_count: u64,
    /// The queries to which it has the same answers as the first answerer.
    pub equal_count: u64,
}

/// Asks all of them in turn. Those that do not know the question have no lap. Answers are compared outside the times.
///
/// # Errors
/// If an answerer fails.
pub fn race(effort: Effort, lanes: &mut [Lane], batch: &QueryBatch) -> Result<Vec<Lap>> {
    let mut known = Vec::new();
    let mut first: Option<Answers> = None;
    // The first queries of a structure may include one-time work, so this is another call that does not count.
    for lane in lanes.iter_mut() {
        if let Some(found) = lane.answerer.answer(batch)? {
            let counts = (found.answer_count(), found.equal_count(first.as_ref().unwrap_or(&found)));
            first.get_or_insert(found);
            known.push((lane, counts));
        }
    }
    let call = |(lane, _): &'_ mut (&'_ mut Lane, _)| -> Result<()> {
        black_box(lane.answerer.answer(batch)?);
        Ok(())
    };
    let mut calls: Vec<Call> = known.iter_mut().map(|known| Box::new(move || call(known)) as Call).collect();
    let times = in_turn(effort, &mut calls)?;
    drop(calls);
    let lap = |((lane, (answer_count, equal_count)), time): ((&mut Lane, (u64, u64)), Time)| Lap {
        name: lane.name,
        time,
        answer_count,
        equal_count,
    };
    Ok(known.into_iter().zip(times).map(lap).collect())
}
