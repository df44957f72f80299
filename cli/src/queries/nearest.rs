//! `broadsweep nearest`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use broadsweep::cpu::brute_force;
use broadsweep::query::{Near, NearestQuery, QueryFilters};
use broadsweep::{Aabb, Lists};
use laboratory::scenes::queries::points;

use super::{Common, Named, QueryBatch, Run, generated, in_space, padded, reserved};

/// Find the boxes that are nearest to points
#[derive(clap::Args)]
pub struct Args {
    /// Boxes, as `broadsweep pairs` takes them
    #[arg(value_name = "SCENE.npy|SCENE.npz")]
    scene: PathBuf,

    /// Points: an (m, 3) or (m, 4) array: x, y, z and, in the fourth column, the largest distance of a box; in 2D
    /// (m, 2)
    ///
    /// The array has floats or integers, rounded to the nearest float32. Points in 2D lie at z = 0; for a largest
    /// distance in 2D, give (m, 4) with z = 0. An .npz file has this array as `points`, and optional query filters: u4
    /// (m,) `group`, `mask`, `body` and `world`, `ignore`, the index of a box, and (m, 4) `sphere`, which the spheres
    /// of boxes must touch. points:N generates points for the scene.
    ///
    /// The arrays of --out: u4 (m, K) `index`, nearest first, and f4 (m, K) `squared_distance`, rounded down. Where
    /// there are fewer boxes, the index is 2^32 - 1, and the distance is infinite.
    #[arg(value_name = "POINTS.npy|POINTS.npz")]
    points: PathBuf,

    /// The count of boxes to find for each point
    #[arg(long, default_value_t = 1)]
    k: usize,

    #[command(flatten)]
    common: Common,
}

fn read(path: &Path, boxes: &[Aabb]) -> Result<QueryBatch<NearestQuery>> {
    match generated(path)? {
        Some(("points", count)) => {
            drop(reserved::<NearestQuery>(count)?);
            Ok(QueryBatch::plain(points(count, 1, boxes)))
        }
        Some((kind, _)) => bail!("there are no points `{kind}`; there are points:N"),
        None => super::read(path, "points", &[2, 3, 4], |row| NearestQuery {
            point: in_space(&row[..row.len().min(3)]),
            radius: row.get(3).copied().unwrap_or(f32::INFINITY),
        }),
    }
}

/// Runs `broadsweep nearest`.
pub fn run(args: &Args) -> Result<()> {
    let run = Run::start(&args.scene, &args.points, &args.common)?;
    let batch = read(&args.points, &run.boxes)?;
    let k = args.k;
    run.finish(
        &batch,
        "points",
        |tree, batch| tree.nearest(batch.batch(), k.min(run.boxes.len().max(1))),
        |batch| brute_force::nearest(batch.batch(), &run.boxes, &run.filters, k),
        |found: &Lists<Near>| {
            let none = Near { index: QueryFilters::NO_BOX, squared_distance: f32::INFINITY };
            let (index, square) = padded(found, k, none, |near| (near.index, near.squared_distance))?;
            let shape = [found.len() as u64, k as u64];
            Ok(vec![Named::new("index", &shape, &index), Named::new("squared_distance", &shape, &square)])
        },
    )
}
