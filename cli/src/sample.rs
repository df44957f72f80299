//! `broadsweep` alone: a scene, its pairs, and where to go from there.

use std::env;

use anyhow::Result;
use broadsweep::{Filters, Options};
use laboratory::scenes::Kind;

use crate::BENCH;
use crate::output::print;
use crate::ready::Ready;
use crate::report::Run;
use crate::text;
use crate::verify::verify;

const BOX_COUNT: usize = 100_000;
/// The most boxes that the CPU engine's own pairs are compared for by brute force: a second of work.
const BRUTE_FORCE_BOXES: usize = 20_000;
const SEED: u64 = 1;

/// Finds the pairs of a scene, and prints them and how to go on.
pub fn run() -> Result<()> {
    let count = text::count(BOX_COUNT as u64);
    print(&format!(
        "broadsweep finds every overlapping pair among axis-aligned boxes.\n\
         Here are {count} cubes at random places, and their pairs:\n\n"
    ))?;
    let boxes = Kind::Uniform.generate(BOX_COUNT, SEED);
    let filters = Filters::default();
    let engine = Ready::choose(None, None)?;
    let answer = engine.find_pairs(&boxes, &filters, Options::default())?;
    let verified = verify(&answer, &boxes, &filters, Options::default(), BRUTE_FORCE_BOXES)?;
    let run = Run {
        scene: format!("{}, seed {SEED}", Kind::Uniform),
        box_count: boxes.len(),
        filters: &filters,
        engine: engine.describe(),
        answer: &answer,
        verified: Some(&verified),
        written: None,
        by_world: None,
    };
    // As it was typed, or as cargo runs it: either can be typed again.
    let program = env::args_os().next().unwrap_or_else(|| "broadsweep".into());
    let program = text::path(program.as_ref());
    let bench = if cfg!(feature = "bench") { format!("{program} bench") } else { BENCH.to_owned() };
    print(&format!(
        "{}\nNext, with a scene of your own or another of these (`{program} scene --help` lists {}):\n\n  \
         {program} scene clusters --n 1000000 --out scene.npy\n  \
         {program} pairs scene.npy --out pairs.npy\n  \
         {bench}  # this and other methods side by side, in about a minute\n",
        run.lines(),
        Kind::ALL.len()
    ))
}
