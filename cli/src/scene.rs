//! `broadsweep scene`.

use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use broadsweep::Aabb;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use laboratory::scenes::{self, Kind, npy};

use crate::output::{Output, print, say};
use crate::progress::Progress;
use crate::text;

/// Make a scene to try and to measure with
#[derive(clap::Args)]
pub struct Args {
    /// What the boxes are like
    #[arg(value_parser = kinds())]
    kind: Kind,

    /// How many boxes
    #[arg(long)]
    n: u32,

    /// The same seed gives the same boxes, on every machine
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Where to write the boxes: an (n, 6) array of f4; `-` is stdout
    #[arg(long, value_name = "FILE.npy")]
    out: PathBuf,

    /// The edge of the cubes of `uniform` [default: 0.01 * (1e6 / n)^(1/3)]
    #[arg(long, allow_negative_numbers = true)]
    edge: Option<f32>,
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.description())))
        .try_map(|name| name.parse())
}

/// Runs `broadsweep scene`.
pub fn run(args: &Args) -> Result<()> {
    if let Some(edge) = args.edge {
        ensure!(args.kind == Kind::Uniform, "--edge is for uniform only; {} has its own edges", args.kind);
        ensure!((0.0..f32::INFINITY).contains(&edge), "--edge is {edge}; it must be finite and not negative");
    }
    let output = Output::check(&args.out)?;
    let n = args.n as usize;
    // The generators abort where there is no memory, so the memory is asked for first.
    Vec::<Aabb>::new()
        .try_reserve_exact(n)
        .map_err(|_| anyhow!("{n} boxes need {} bytes of memory, which could not be had", n as u64 * 24))?;
    let boxes = {
        let _progress = Progress::start(format!("making {}", text::boxes(n as u64)));
        match args.kind {
            Kind::Uniform => scenes::uniform(n, args.seed, args.edge),
            kind => kind.generate(n, args.seed),
        }
    };
    {
        let _progress = Progress::start(format!("writing {}", text::boxes(n as u64)));
        output.write(|to| Ok(npy::write_boxes(to, &boxes)?))?;
    }
    let boxes = text::boxes(n as u64);
    let line = format!("{}: {boxes}, {}, seed {}", text::path(&args.out), args.kind, args.seed);
    if output.is_stdout() {
        say(&line);
        return Ok(());
    }
    print(&format!("{line}\n"))
}
