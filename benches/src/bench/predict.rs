//! The prediction of how long an engine will take, from what it took for fewer boxes: a call that would take too long
//! is not made.

use std::collections::HashMap;

use broadsweep::Aabb;

use super::results::Row;
use super::stop::is_stopped;
use crate::engine::Engine;
use crate::measure::contestant::Contestant;

/// The multiple of the limit that a prediction or a first call has to exceed before it is believed: both are noisy.
pub const SLACK: f64 = 3.0;
/// Boxes of the calls that predict where there are no smaller scenes.
const PREFIXES: [usize; 5] = [1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The boxes and the least seconds of a call, by scene and engine.
#[derive(Default)]
pub struct Known(HashMap<(String, String), Vec<(f64, f64)>>);

impl Known {
    pub fn add(&mut self, row: &Row) {
        let seen = row.time.as_ref().map(|time| time.min_ms).into_iter().chain(row.first_ms);
        if let Some(ms) = seen.min_by(f64::total_cmp) {
            self.0.entry((row.scene.clone(), row.engine.clone())).or_default().push((row.boxes as f64, ms / 1e3));
        }
    }

    /// Predicts the seconds of a call.
    pub fn predict(&self, row: &Row, engine: Engine) -> Option<f64> {
        predict(engine, self.0.get(&(row.scene.clone(), row.engine.clone()))?, row.boxes as f64)
    }
}

/// Predicts the seconds that an engine will take for `n` boxes, from what it took for fewer.
fn predict(engine: Engine, known: &[(f64, f64)], n: f64) -> Option<f64> {
    let &(last, time) = known.last().filter(|(last, _)| *last > 0.0 && *last < n)?;
    let before = known.iter().rev().find(|(before, _)| *before > 0.0 && *before < last);
    let power = match (engine, before) {
        (Engine::Brute, _) => 2.0,
        // Of short times nothing can be told.
        (_, Some((before, earlier))) if *earlier > 1e-4 => {
            ((time / earlier).ln() / (last / before).ln()).clamp(1.0, 2.0)
        }
        _ => 1.0,
    };
    Some(time * (n / last).powf(power))
}

/// Predicts the seconds that an engine will take for `boxes`, from calls with the first of them, outside the times;
/// returns `None` where there are few.
pub fn calibrate(engine: Engine, contestant: &mut Contestant, boxes: &[Aabb], limit: f64) -> Option<f64> {
    let mut known = Vec::new();
    let mut pairs = Vec::new();
    for n in PREFIXES.into_iter().filter(|n| *n < boxes.len()) {
        if is_stopped() || predict(engine, &known, n as f64).is_some_and(|seconds| seconds > SLACK * limit) {
            break;
        }
        let mut call = || {
            contestant.forget();
            Some(contestant.find_pairs(&boxes[..n], &mut pairs).ok()?.ms / 1e3)
        };
        // The first of two grows buffers, which is nothing where it takes long.
        let mut least = call()?;
        if least < limit {
            least = least.min(call()?);
        }
        known.push((n as f64, least));
    }
    contestant.forget();
    predict(engine, &known, boxes.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_time_is_predicted_from_shorter_ones() {
        let linear = [(1e3, 1e-3), (1e4, 1e-2)];
        let square = [(1e3, 1e-3), (1e4, 1e-1)];
        let near = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-9;
        assert!(near(predict(Engine::Cpu, &linear, 1e5), 0.1));
        assert!(near(predict(Engine::Cpu, &square, 1e5), 10.0));
        assert!(near(predict(Engine::Cpu, &[(1e4, 1e-2)], 1e5), 0.1));
        assert!(near(predict(Engine::Brute, &[(1e4, 1e-2)], 1e5), 1.0));
        assert_eq!(predict(Engine::Cpu, &[], 1e5), None);
        assert_eq!(predict(Engine::Cpu, &linear, 1e4), None);
        assert!(predict(Engine::Cpu, &[(0.0, 0.0)], 1e4).is_none());
    }
}
