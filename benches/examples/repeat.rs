//! Finds the pairs of a file of boxes repeatedly on the CPU engine, and prints the seconds of each call: the reference
//! for bindings to other languages.
//!
//! `cargo run --release -p broadsweep-laboratory --example repeat -- BOXES.npy CALLS`

use std::time::Instant;

use anyhow::{Context, Result};
use broadsweep::{Options, PairOrder, cpu};
use laboratory::scenes::npy;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("which file?")?;
    let calls: usize = arguments.next().context("how many calls?")?.parse()?;
    let boxes = npy::read_boxes(path)?;
    let mut engine = cpu::BroadPhase::new(Options::default().with_order(PairOrder::Canonical))?;
    engine.find_pairs(&boxes)?;
    for _ in 0..calls {
        let start = Instant::now();
        engine.find_pairs(&boxes)?;
        println!("{}", start.elapsed().as_secs_f64());
    }
    Ok(())
}
