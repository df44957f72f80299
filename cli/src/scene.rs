//! `broadsweep scene`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use broadsweep::Aabb;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use laboratory::scenes::{self, Kind, SceneNameError, npy, parse_count};

use crate::output::{Output, print, say};
use crate::progress::Progress;
use crate::text;

/// Generate a scene for trials and measurements
#[derive(clap::Args)]
pub struct Args {
    /// The kind of scene
    #[arg(value_parser = kinds())]
    kind: Kind,

    /// The count of boxes
    #[arg(long, value_parser = parse_count)]
    n: u32,

    /// The same seed gives the same boxes, on every machine
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The file for the boxes: an (n, 6) array of f4; `-` is stdout
    #[arg(long, value_name = "FILE.npy")]
    out: PathBuf,

    /// The edge length of the cubes of `uniform` [default: 0.01 * (1e6 / n)^(1/3)]
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
        ensure!(
            args.kind == Kind::Uniform,
            "--edge applies to uniform only, and the kind is {}; leave --edge out",
            args.kind
        );
        ensure!((0.0..f32::INFINITY).contains(&edge), "--edge is {edge}; it must be finite and not negative");
    }
    let output = Output::check(&args.out)?;
    let n = args.n as usize;
    // The generators abort if there is no memory, so it is reserved first.
    Vec::<Aabb>::new().try_reserve_exact(n).map_err(|_| SceneNameError::OutOfMemory { count: n })?;
    let boxes = {
        let _progress = Progress::start(format!("generating {}", text::boxes(n as u64)));
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
