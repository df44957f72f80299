//! The comparison of an answer with that of another engine.

use std::borrow::Cow;

use anyhow::{Context, Result, bail};
use broadsweep::{Aabb, Error, Filters, Options, Pair, PairOrder, cpu};
use laboratory::engine::{Engine, timed};

use crate::progress::Progress;
use crate::ready::{Answer, on_cpu};
use crate::{filters, text};

/// A comparison that was made and found no difference.
pub struct Verified {
    /// The engine whose answer is the same.
    pub against: Engine,
    /// The pairs among this many boxes, counted from the first, were compared.
    pub boxes: usize,
    /// The boxes in the scene.
    pub of: usize,
    /// The seconds that it took.
    pub seconds: f64,
}

impl Verified {
    /// Tells what was compared, and with what.
    pub fn describe(&self) -> String {
        let other = self.against.title();
        let time = text::seconds(self.seconds);
        if self.boxes == self.of {
            return format!("all pairs equal those of {other} ({time})");
        }
        let boxes = text::boxes(self.boxes as u64);
        format!("in part: the pairs among the first {boxes} equal those of {other} ({time})")
    }
}

/// Compares an answer with the CPU engine's, or the CPU engine's own with brute force, whose work grows with
/// the square of the boxes: of more than `brute_force_boxes` it looks at that many. The error names the first
/// pair that differs.
pub fn verify(
    answer: &Answer,
    boxes: &[Aabb],
    filters: &Filters,
    options: Options,
    brute_force_boxes: usize,
) -> Result<Verified> {
    let _progress = Progress::start("verifying".to_owned());
    let (against, checked) = match answer.engine {
        Engine::Cpu => (Engine::Brute, boxes.len().min(brute_force_boxes)),
        _ => (Engine::Cpu, boxes.len()),
    };
    let (expected, seconds) = timed(|| find_expected(against, &boxes[..checked], filters, options));
    let expected = expected.context("cannot verify")?;
    // Among all boxes, a pair with a box that is not there is one too many.
    let box_count = if checked == boxes.len() { usize::MAX } else { checked };
    let found = ascending(&answer.pairs, box_count).context("cannot verify")?;
    if let Some(difference) = first_difference(&found, &expected) {
        let (pair, other) = (difference.pair(), against.title());
        let what = match difference {
            Difference::Extra(_) => format!("lists the pair {pair}, which {other} does not have"),
            Difference::Missing(_) => format!("misses the pair {pair}, which {other} has"),
            Difference::Repeated(_) => format!("lists the pair {pair} more than once"),
        };
        bail!("verification failed: {} {what}. Nothing was written", answer.engine.title());
    }
    Ok(Verified { against, boxes: checked, of: boxes.len(), seconds })
}

/// Finds the pairs among the first boxes of a scene, ascending.
fn find_expected(engine: Engine, boxes: &[Aabb], filters: &Filters, options: Options) -> Result<Vec<Pair>, Error> {
    if engine == Engine::Brute {
        return cpu::brute_force::find_pairs(boxes, &filters::of_first(filters, boxes.len()));
    }
    let mut broad_phase = on_cpu(filters, options.with_order(PairOrder::Canonical))?;
    broad_phase.find_pairs(boxes)?;
    Ok(broad_phase.take_overlaps().pairs)
}

/// Returns the pairs among the first boxes, ascending: `pairs` themselves where they are that, and otherwise a copy.
fn ascending(pairs: &[Pair], box_count: usize) -> Result<Cow<'_, [Pair]>, Error> {
    let is_among = |pair: &&Pair| (pair.b as usize) < box_count;
    let count = pairs.iter().filter(is_among).count();
    if count == pairs.len() && pairs.is_sorted() {
        return Ok(Cow::Borrowed(pairs));
    }
    let (mut copy, pair_count) = (Vec::new(), count as u64);
    let required = pair_count.saturating_mul(size_of::<Pair>() as u64);
    copy.try_reserve_exact(count).map_err(|_| Error::ListTooLong { pair_count, required })?;
    copy.extend(pairs.iter().filter(is_among));
    copy.sort_unstable();
    Ok(Cow::Owned(copy))
}

#[derive(Debug, PartialEq)]
enum Difference {
    Extra(Pair),
    Missing(Pair),
    Repeated(Pair),
}

impl Difference {
    fn pair(&self) -> String {
        let (Self::Extra(pair) | Self::Missing(pair) | Self::Repeated(pair)) = self;
        format!("({}, {})", pair.a, pair.b)
    }
}

/// Returns the first difference of two ascending lists, of which `expected` has no pair twice.
fn first_difference(found: &[Pair], expected: &[Pair]) -> Option<Difference> {
    let i = (0..found.len().max(expected.len())).find(|&i| found.get(i) != expected.get(i))?;
    Some(match (found.get(i), expected.get(i)) {
        (Some(&pair), _) if i > 0 && pair == found[i - 1] => Difference::Repeated(pair),
        (Some(&pair), Some(&other)) if pair < other => Difference::Extra(pair),
        (_, Some(&other)) => Difference::Missing(other),
        (Some(&pair), None) => Difference::Extra(pair),
        (None, None) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(pairs: &[(u32, u32)]) -> Vec<Pair> {
        pairs.iter().map(|&(a, b)| Pair { a, b }).collect()
    }

    #[test]
    fn the_first_difference_is_the_smallest_pair_that_differs() {
        let expected = list(&[(0, 1), (0, 2), (3, 4)]);
        let difference = |found: &[(u32, u32)]| first_difference(&list(found), &expected);
        let pair = |a, b| Pair { a, b };
        assert_eq!(difference(&[(0, 1), (0, 2), (3, 4)]), None);
        assert_eq!(difference(&[]), Some(Difference::Missing(pair(0, 1))));
        assert_eq!(difference(&[(0, 1), (3, 4)]), Some(Difference::Missing(pair(0, 2))));
        assert_eq!(difference(&[(0, 1), (0, 2)]), Some(Difference::Missing(pair(3, 4))));
        assert_eq!(difference(&[(0, 1), (0, 2), (1, 2), (3, 4)]), Some(Difference::Extra(pair(1, 2))));
        assert_eq!(difference(&[(0, 1), (0, 2), (3, 4), (9, 9)]), Some(Difference::Extra(pair(9, 9))));
        assert_eq!(difference(&[(0, 1), (0, 1), (0, 2), (3, 4)]), Some(Difference::Repeated(pair(0, 1))));
    }

    #[test]
    fn a_wrong_answer_is_refused_with_the_pair_and_the_engine() {
        let (boxes, none) = (vec![Aabb::new([0.0; 3], [1.0; 3]); 3], Filters::default());
        let mut answer = Answer::of(Engine::Cpu, list(&[(1, 2), (0, 1), (0, 2)]));
        let verified = verify(&answer, &boxes, &none, Options::default(), 10).unwrap();
        assert_eq!((verified.against, verified.boxes, verified.of), (Engine::Brute, 3, 3));
        answer.pairs.remove(0);
        let message = verify(&answer, &boxes, &none, Options::default(), 10).err().unwrap().to_string();
        assert!(message.contains("misses the pair (1, 2), which brute force has"), "{message}");
    }

    #[test]
    fn brute_force_looks_at_the_first_boxes_of_many() {
        let (boxes, none) = (vec![Aabb::new([0.0; 3], [1.0; 3]); 3], Filters::default());
        let mut answer = Answer::of(Engine::Cpu, list(&[(0, 1)]));
        let verified = verify(&answer, &boxes, &none, Options::default(), 2).unwrap();
        assert_eq!((verified.boxes, verified.of), (2, 3));
        answer.pairs.clear();
        assert!(verify(&answer, &boxes, &none, Options::default(), 2).is_err());
    }

    #[test]
    fn a_partial_comparison_is_reported() {
        let mut verified = Verified { against: Engine::Brute, boxes: 10, of: 20, seconds: 0.0 };
        assert!(verified.describe().starts_with("in part: the pairs among the first 10 boxes"));
        verified.of = 10;
        assert!(verified.describe().starts_with("all pairs equal those of brute force"));
    }
}
