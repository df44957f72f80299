//! `broadsweep overlaps`.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use broadsweep::internals::brute_queries;
use broadsweep::{Aabb, Lists, Shape, Sphere};
use laboratory::scenes::queries::cubes;

use super::rays::first_lists;
use super::{Asked, Common, FILTERS, Named, Run, filters_of, made};
use crate::npz;

/// The arrays of shapes that there can be.
const SHAPES: [&str; 3] = ["points", "boxes", "spheres"];
/// How many boxes each of the cubes that are made for a scene touches, about.
const ANSWERS: f64 = 10.0;

/// Find the boxes that touch points, boxes or spheres
#[derive(clap::Args)]
pub struct Args {
    /// Boxes, as `broadsweep pairs` takes them
    #[arg(value_name = "SCENE.npy|SCENE.npz")]
    scene: PathBuf,

    /// Shapes: an .npz with one of f4 `points` (k, 3), `boxes` (k, 6), `spheres` (k, 4: centre, radius)
    ///
    /// Beside it there may be what each shape says of which boxes it meets: u4 (k,) `group`, `mask`, `body`, `world`, and
    /// `ignore`, a box. cubes:N makes cubes for the scene that touch some ten boxes each.
    ///
    /// --out then has u8 (k + 1,) `offsets`, where the boxes of each shape begin in u4 `index`, ascending.
    #[arg(value_name = "SHAPES.npz")]
    shapes: PathBuf,

    #[command(flatten)]
    common: Common,
}

/// Shapes of one kind.
enum Shapes {
    Points(Asked<[f32; 3]>),
    Boxes(Asked<Aabb>),
    Spheres(Asked<Sphere>),
}

fn read(args: &Args, boxes: &[Aabb]) -> Result<Shapes> {
    match made(&args.shapes) {
        Some(("cubes", count)) => return Ok(Shapes::Boxes(Asked::plain(cubes(count, 1, boxes, ANSWERS)))),
        Some((kind, _)) => return Err(anyhow!("there are no shapes `{kind}`; there are cubes")),
        None => {}
    }
    let known = [&SHAPES[..], &FILTERS[..]].concat();
    npz::open(&args.shapes, &known, |arrays| {
        let points: Option<Vec<[f32; 3]>> = arrays.table("points")?;
        let regions: Option<Vec<[f32; 6]>> = arrays.table("boxes")?;
        let spheres: Option<Vec<[f32; 4]>> = arrays.table("spheres")?;
        match (points, regions, spheres) {
            (Some(queries), None, None) => {
                let filters = filters_of(arrays, queries.len())?;
                Ok(Shapes::Points(Asked { queries, filters }))
            }
            (None, Some(rows), None) => {
                let filters = filters_of(arrays, rows.len())?;
                let queries = rows.iter().map(|&[a, b, c, d, e, f]| Aabb::new([a, b, c], [d, e, f])).collect();
                Ok(Shapes::Boxes(Asked { queries, filters }))
            }
            (None, None, Some(rows)) => {
                let filters = filters_of(arrays, rows.len())?;
                let queries = rows.iter().map(|&[x, y, z, radius]| Sphere { center: [x, y, z], radius }).collect();
                Ok(Shapes::Spheres(Asked { queries, filters }))
            }
            _ => bail!("it needs one of {}, and not more", SHAPES.join(", ")),
        }
    })
}

/// Runs `broadsweep overlaps`.
pub fn run(args: &Args) -> Result<()> {
    let run = Run::start(&args.scene, &args.shapes, &args.common)?;
    match read(args, &run.boxes)? {
        Shapes::Points(asked) => ask(&run, &asked, "points"),
        Shapes::Boxes(asked) => ask(&run, &asked, "boxes"),
        Shapes::Spheres(asked) => ask(&run, &asked, "spheres"),
    }
}

fn ask<S: Shape>(run: &Run<'_>, asked: &Asked<S>, kind: &str) -> Result<()> {
    run.finish(
        asked,
        kind,
        |tree, asked| tree.overlaps(asked.batch()),
        |asked| brute_queries::overlaps(asked.batch(), &run.boxes, &run.filters),
        first_lists,
        |found: &Lists<u32>| {
            let offsets = Named::new("offsets", &[found.offsets.len() as u64], &found.offsets);
            vec![offsets, Named::new("index", &[found.answers.len() as u64], &found.answers)]
        },
        |found| found.report.clone(),
    )
}
