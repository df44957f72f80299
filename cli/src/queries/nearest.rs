//! `broadsweep nearest`.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use broadsweep::internals::brute_queries;
use broadsweep::{Aabb, Lists, Near, NearestQuery, QueryFilters};
use laboratory::scenes::queries::points;

use super::rays::first_lists;
use super::{Asked, Common, FILTERS, Named, Run, filters_of, made, padded, reserved, rows};
use crate::input::has_extension;
use crate::npz;

/// Find the boxes that are nearest to points
#[derive(clap::Args)]
pub struct Args {
    /// Boxes, as `broadsweep pairs` takes them
    #[arg(value_name = "SCENE.npy|SCENE.npz")]
    scene: PathBuf,

    /// Points: an (m, 3) or (m, 4) array of f4: x, y, z and, where there are four, how far a box may be
    ///
    /// An .npz has that array as `points`, and beside it what each point says of which boxes it meets, all of it optional:
    /// u4 (m,) `group`, `mask`, `body`, `world`, and `ignore`, a box. points:N makes points for the scene.
    ///
    /// --out then has u4 (m, K) `index`, nearest first, and f4 (m, K) `squared_distance`, rounded down. Where there are fewer
    /// boxes, the index is 2^32 - 1, and the distance infinite.
    #[arg(value_name = "POINTS.npy|POINTS.npz")]
    points: PathBuf,

    /// How many boxes are wanted of each point
    #[arg(long, default_value_t = 1)]
    k: usize,

    #[command(flatten)]
    common: Common,
}

fn read(args: &Args, boxes: &[Aabb]) -> Result<Asked<NearestQuery>> {
    match made(&args.points) {
        Some(("points", count)) => {
            drop(reserved::<NearestQuery>(count)?);
            return Ok(Asked::plain(points(count, 1, boxes)));
        }
        Some((kind, _)) => return Err(anyhow!("there are no points `{kind}`; there are points:N")),
        None => {}
    }
    let anywhere = |&[x, y, z]: &[f32; 3]| NearestQuery::new([x, y, z]);
    let within = |&[x, y, z, radius]: &[f32; 4]| NearestQuery { point: [x, y, z], radius };
    if has_extension(&args.points, "npz") {
        let known = [&["points"], &FILTERS[..]].concat();
        return npz::open(&args.points, &known, |arrays| {
            let missing = "it has no array `points`, which is the one that it needs";
            let queries: Vec<NearestQuery> = match arrays.table::<f32, 3>("points") {
                Ok(rows) => rows.context(missing)?.iter().map(anywhere).collect(),
                // Perhaps with distances.
                Err(error) => match arrays.table::<f32, 4>("points") {
                    Ok(rows) => rows.context(missing)?.iter().map(within).collect(),
                    Err(_) => return Err(error),
                },
            };
            let filters = filters_of(arrays, queries.len())?;
            Ok(Asked { queries, filters })
        });
    }
    let (width, numbers) = rows(&args.points, "points", &[3, 4])?;
    let queries = match width {
        3 => numbers.as_chunks().0.iter().map(anywhere).collect(),
        _ => numbers.as_chunks().0.iter().map(within).collect(),
    };
    Ok(Asked { queries, filters: QueryFilters::default() })
}

/// Runs `broadsweep nearest`.
pub fn run(args: &Args) -> Result<()> {
    let run = Run::start(&args.scene, &args.points, &args.common)?;
    let asked = read(args, &run.boxes)?;
    let k = args.k;
    run.finish(
        &asked,
        "points",
        |tree, asked| tree.nearest(asked.batch(), k.min(run.boxes.len().max(1))),
        |asked| brute_queries::nearest(asked.batch(), &run.boxes, &run.filters, k),
        first_lists,
        |found: &Lists<Near>| {
            let none = Near { index: QueryFilters::NO_BOX, squared_distance: f32::INFINITY };
            let (index, square) = padded(found, k, none, |near| (near.index, near.squared_distance))?;
            let shape = [found.len() as u64, k as u64];
            Ok(vec![Named::new("index", &shape, &index), Named::new("squared_distance", &shape, &square)])
        },
        |found| found.report.clone(),
    )
}
