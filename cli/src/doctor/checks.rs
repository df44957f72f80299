//! The checks of the self-test: an engine is compared with another one, on generated scenes.

use std::fmt::Debug;

use anyhow::{Result, ensure};
use broadsweep::cpu::brute_force;
use broadsweep::query::{Near, NearestQuery};
use broadsweep::{
    Aabb, BroadPhase, Error, Filters, Hit, Lists, Options, Pair, PairOrder, QueryEngine, Ray, Step, Tree, cpu,
};
use laboratory::engine::Engine;
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, cubes, points};

use crate::frames::Differences;
use crate::ready::Ready;

/// A check, which fails where the engines differ.
pub enum Check {
    /// The pairs of a scene, as `broadsweep pairs KIND:N` finds them.
    Pairs { kind: Kind, n: usize, all_pairs_up_to: Option<u32>, is_filtered: bool },
    /// The events of a step.
    Events,
    /// The answers of a tree.
    Queries,
}

impl Check {
    /// Returns each check. Checks that compile few kernels come first; checks with filters, which compile more, come
    /// last.
    pub fn all() -> Vec<Self> {
        let swept = [Kind::Uniform, Kind::Clusters, Kind::Touching, Kind::Infinite, Kind::Invalid];
        let scenes = [(Kind::Uniform, 300, None)].into_iter().chain(swept.map(|kind| (kind, 3000, Some(0))));
        let pairs = |is_filtered| {
            let scenes = scenes.clone();
            scenes.map(move |(kind, n, all_pairs_up_to)| Self::Pairs { kind, n, all_pairs_up_to, is_filtered })
        };
        pairs(false).chain([Self::Events, Self::Queries]).chain(pairs(true)).collect()
    }

    /// Returns what the check compares.
    pub fn name(&self) -> String {
        match self {
            Self::Pairs { kind, n, all_pairs_up_to, is_filtered } => {
                let sweep = if all_pairs_up_to.is_some() { " --all-pairs-up-to 0" } else { "" };
                let filters = if *is_filtered { ", with filters" } else { "" };
                format!("pairs {kind}:{n}{sweep}{filters}")
            }
            Self::Events => "events of a step of 2,000 boxes".to_owned(),
            Self::Queries => "rays, overlaps and nearest boxes in a tree of 2,000".to_owned(),
        }
    }

    /// Compares the engine with the CPU engine, or the CPU engine with brute force.
    pub fn run(&self, on: &Ready) -> Result<()> {
        match *self {
            Self::Pairs { kind, n, all_pairs_up_to, is_filtered } => pairs(on, kind, n, all_pairs_up_to, is_filtered),
            Self::Events => events(on),
            Self::Queries => queries(on),
        }
    }
}

fn pairs(on: &Ready, kind: Kind, n: usize, all_pairs_up_to: Option<u32>, is_filtered: bool) -> Result<()> {
    let boxes = kind.generate(n, 1);
    let filters = if is_filtered { filters(n as u32) } else { Filters::default() };
    let options = Options::default().with_order(PairOrder::Canonical).with_all_pairs_up_to(all_pairs_up_to);
    let found = on.find_pairs(&boxes, &filters, options)?;
    let reference = Ready::Other(if on.engine() == Engine::Cpu { Engine::Brute } else { Engine::Cpu });
    let expected = reference.find_pairs(&boxes, &filters, options)?;
    same("pair", &found.pairs, &expected.pairs)
}

/// Returns filters of all kinds that take a value for each box, and excluded pairs.
fn filters(n: u32) -> Filters {
    let each = |value: fn(u32) -> u32| (0..n).map(value).collect();
    Filters::default()
        .with_group(each(|i| 1 << (i % 5)))
        .with_mask(each(|i| !(1 << (i % 7))))
        .with_body(each(|i| i / 2))
        .with_parent(each(|i| if i % 3 == 0 { Filters::NO_PARENT } else { i / 3 }))
        .with_world(each(|i| if i % 50 == 0 { Filters::GLOBAL } else { i % 3 }))
        .with_fixed((0..n).map(|i| i % 4 == 0).collect())
        .with_sleeping((0..n).map(|i| i % 9 == 0).collect())
        .with_margin((0..n).map(|i| (i % 3) as f32 * 1e-3).collect())
        .with_exclude((0..n - 3).step_by(2).map(|i| Pair { a: i, b: i + 3 }).collect())
}

fn events(on: &Ready) -> Result<()> {
    let frames = [0, 1].map(|step| Kind::Brownian.generate_step(2000, 1, step));
    let options = Options::default().with_order(PairOrder::Canonical).with_all_pairs_up_to(Some(0));
    let by_cpu = || cpu::BroadPhase::new(options).and_then(|engine| differences(engine, &frames));
    let (found, expected) = match on {
        Ready::Gpu(gpu) => (differences(BroadPhase::new(gpu, options)?, &frames)?, by_cpu()?),
        Ready::Other(_) => {
            let mut expected = Differences::default();
            for boxes in &frames {
                expected.advance(brute_force::find_pairs(boxes, &Filters::default())?);
            }
            (by_cpu()?, expected)
        }
    };
    same("pair of the step", &found.pairs, &expected.pairs)?;
    same("created pair", &found.created, &expected.created)?;
    same("lost pair", &found.lost, &expected.lost)
}

/// Returns the pairs and events of the last frame.
fn differences(mut engine: impl broadsweep::Engine, frames: &[Vec<Aabb>]) -> Result<Differences, Error> {
    for boxes in frames {
        engine.find_events(Step::new(boxes))?;
    }
    let events = engine.events().clone();
    Ok(Differences { pairs: events.pairs, created: events.created, lost: events.lost })
}

/// A batch of queries of each kind.
struct Batch {
    boxes: Vec<Aabb>,
    rays: Vec<Ray>,
    cubes: Vec<Aabb>,
    points: Vec<NearestQuery>,
}

/// The answers to a batch.
type Answers = (Lists<Hit>, Lists<u32>, Lists<Near>);

/// Answers to each ray and to each point.
const MOST: usize = 3;

impl Batch {
    fn generate() -> Self {
        let boxes = Kind::Clusters.generate(2000, 1);
        let rays = RayKind::Incoherent.generate(500, 1, &boxes);
        Self { rays, cubes: cubes(500, 1, &boxes, 4.0), points: points(500, 1, &boxes), boxes }
    }

    fn by_tree(&self, mut tree: impl QueryEngine) -> Result<Answers, Error> {
        tree.build(&self.boxes)?;
        let hits = tree.first_hits(&self.rays, MOST)?;
        Ok((hits, tree.overlaps(&self.cubes)?, tree.nearest(&self.points, MOST)?))
    }

    fn by_brute_force(&self) -> Result<Answers, Error> {
        let (boxes, none) = (&self.boxes, &Filters::default());
        Ok((
            brute_force::first_hits(&self.rays, boxes, none, MOST)?,
            brute_force::overlaps(&self.cubes, boxes, none)?,
            brute_force::nearest(&self.points, boxes, none, MOST)?,
        ))
    }
}

fn queries(on: &Ready) -> Result<()> {
    let batch = Batch::generate();
    let by_cpu = || batch.by_tree(cpu::Tree::new());
    let (found, expected) = match on {
        Ready::Gpu(gpu) => (batch.by_tree(Tree::new(gpu)?)?, by_cpu()?),
        Ready::Other(_) => (by_cpu()?, batch.by_brute_force()?),
    };
    same_lists("ray", &found.0, &expected.0)?;
    same_lists("box", &found.1, &expected.1)?;
    same_lists("point", &found.2, &expected.2)
}

fn same_lists<T: PartialEq + Debug>(query: &str, found: &Lists<T>, expected: &Lists<T>) -> Result<()> {
    let rows = |lists: &Lists<T>| lists.iter().map(|row| format!("{row:?}")).collect::<Vec<String>>();
    same(&format!("list of the {query}"), &rows(found), &rows(expected))
}

/// Compares two lists. The error names the first element that differs.
fn same<T: PartialEq + Debug>(what: &str, found: &[T], expected: &[T]) -> Result<()> {
    let i = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
    let text = |list: &[T]| list.get(i).map_or("none".to_owned(), |element| format!("{element:?}"));
    ensure!(
        found == expected,
        "{what} {i} is {}, expected {}; {} in all, expected {}",
        text(found),
        text(expected),
        found.len(),
        expected.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        assert!(same("pair", &[1, 2], &[1, 2]).is_ok());
        for (found, expected) in [
            (&[1, 3][..], "pair 1 is 3, expected 2; 2 in all, expected 2"),
            (&[1], "pair 1 is none, expected 2; 1 in all, expected 2"),
            (&[1, 2, 3], "pair 2 is 3, expected none; 3 in all, expected 2"),
        ] {
            assert_eq!(same("pair", found, &[1, 2]).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn filters_fit_and_leave_some_pairs() {
        let boxes = Kind::Clusters.generate(4000, 1);
        let [all, filtered] =
            [Filters::default(), filters(4000)].map(|f| brute_force::find_pairs(&boxes, &f).unwrap().len());
        assert!(0 < filtered && filtered < all, "{filtered} of {all}");
    }
}
