//! What queries cost in structures over the same boxes, counted: tables in Markdown.
//!
//! ```text
//! cargo bench -p broadsweep-laboratory --bench structures -- [OPTION ...] [KIND:N | FILE.npy ...]
//!   --queries N    queries of each kind [2000]
//! ```

use anyhow::{Context, Result, bail};
use laboratory::scenes::SceneName;
use laboratory::structures::count::{Scene, builds, summary};

/// The scenes without any being named: boxes spread evenly, in clusters, in two places far apart, along an oblique rod, at
/// rest on one another, on one plate of ground, of sizes up to a hundredfold apart, and among large ones.
const SCENES: [&str; 9] = [
    "uniform:100000",
    "uniform:1000000",
    "clusters:100000",
    "two-clusters:100000",
    "diagonal:100000",
    "settled:100000",
    "city:100000",
    "spread:100000",
    "thousand-giants:100000",
];

const PREFACE: &str = "\
# Structures over the same boxes

What a query costs on average, counted: `cargo bench -p broadsweep-laboratory --bench structures`. In each cell: fetches that
wait for the one before (nodes; columns, and steps of a search in them), boxes tested (those of the scene, and bounds of
nodes), and kilobytes fetched. In the last two tables: multiples of the first structure's fetches, tests and bytes.";

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut query_count, mut names) = (2000, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--queries" => query_count = arguments.next().context("--queries needs a number")?.parse()?,
            _ if argument.starts_with('-') => bail!("there is no option {argument}"),
            _ => names.push(argument),
        }
    }
    if names.is_empty() {
        names.extend(SCENES.map(str::to_owned));
    }
    println!("{PREFACE}\n\n{}", builds());
    let mut scenes = Vec::new();
    for name in names {
        let name: SceneName = name.parse()?;
        let scene = Scene::measure(name.to_string(), &name.boxes(1)?, query_count, 1);
        println!("{}", scene.table());
        scenes.push(scene);
    }
    print!("{}", summary(&scenes));
    Ok(())
}
