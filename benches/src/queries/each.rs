//! The slowest query of a batch against the median one.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Answerer, QueryBatch};

/// Repetitions of the slowest queries, which separate their own time from noise of the machine.
const AGAIN: usize = 20;
/// The most slow queries that are repeated.
const MOST_AGAIN: usize = 200;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Passes over all queries; the best time of each query counts.
    pub passes: usize,
    /// Time of the first pass, after which it ends with fewer queries.
    pub enough: Duration,
}

/// The times of the queries of a batch, each answered alone.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Queries that were answered.
    pub query_count: usize,
    /// Nanoseconds of the median query.
    pub median_ns: f64,
    /// Nanoseconds of the slowest query.
    pub worst_ns: f64,
    /// The slowest query.
    pub worst: usize,
    /// The answers to the slowest query.
    pub answer_count: u64,
}

impl Spread {
    /// Measures the queries of a batch one by one; returns `None` for an empty batch, and for a question that the
    /// answerer does not know.
    ///
    /// # Errors
    /// If the answerer fails.
    pub fn measure(effort: Effort, answerer: &mut dyn Answerer, batch: &QueryBatch) -> Result<Option<Self>> {
        let mut queries = batch.one_by_one();
        let Some(first) = queries.first() else { return Ok(None) };
        if answerer.answer(first)?.is_none() {
            return Ok(None);
        }
        let start = Instant::now();
        let mut best = Vec::new();
        for query in &queries {
            best.push(time(answerer, query)?);
            if start.elapsed() > effort.enough {
                break;
            }
        }
        queries.truncate(best.len());
        for _ in 1..effort.passes {
            for (query, best) in queries.iter().zip(&mut best) {
                *best = best.min(time(answerer, query)?);
            }
        }
        let worst = confirmed_worst(answerer, &queries, &mut best)?;
        let answer_count = answerer.answer(&queries[worst])?.map_or(0, |found| found.answer_count());
        let (query_count, worst_ns) = (best.len(), best[worst]);
        best.sort_unstable_by(f64::total_cmp);
        Ok(Some(Self { query_count, median_ns: best[query_count / 2], worst_ns, worst, answer_count }))
    }
}

/// Returns the slowest query, repeated often enough to be certain. Queries that only seemed slow get their better
/// times.
fn confirmed_worst(answerer: &mut dyn Answerer, queries: &[QueryBatch], best: &mut [f64]) -> Result<usize> {
    let mut is_confirmed = vec![false; queries.len()];
    let slowest = |best: &[f64]| (0..best.len()).fold(0, |worst, i| if best[i] > best[worst] { i } else { worst });
    for _ in 0..MOST_AGAIN {
        let worst = slowest(best);
        if is_confirmed[worst] {
            break;
        }
        for _ in 0..AGAIN {
            best[worst] = best[worst].min(time(answerer, &queries[worst])?);
        }
        is_confirmed[worst] = true;
    }
    Ok(slowest(best))
}

/// Returns the nanoseconds of a call.
fn time(answerer: &mut dyn Answerer, query: &QueryBatch) -> Result<f64> {
    let start = Instant::now();
    black_box(answerer.answer(black_box(query))?);
    Ok(start.elapsed().as_secs_f64() * 1e9)
}
