//! `broadsweep overlaps`.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use broadsweep::internals::brute_queries;
use broadsweep::{Aabb, Capsule, Convex, Lists, OrientedBox, Shape, Sphere};
use laboratory::scenes::queries::cubes;
use rawzip::FileReader;

use super::rays::first_lists;
use super::{Asked, Common, FILTERS, Named, Run, filters_of, made, reserved};
use crate::npz::{self, Arrays};

/// The arrays of shapes that there can be.
const SHAPES: [&str; 6] = ["points", "boxes", "spheres", "capsules", "oriented", "convex"];
/// The array that says where the half-spaces of each convex shape begin.
const OFFSETS: &str = "convex_offsets";
/// How many boxes each of the cubes that are made for a scene touches, about.
const ANSWERS: f64 = 10.0;

/// Find the boxes that touch points, boxes, spheres and other shapes
#[derive(clap::Args)]
pub struct Args {
    /// Boxes, as `broadsweep pairs` takes them
    #[arg(value_name = "SCENE.npy|SCENE.npz")]
    scene: PathBuf,

    /// Shapes: an .npz with one of f4 `points`, `boxes`, `spheres`, `capsules`, `oriented` and `convex`
    ///
    /// Rows of `points` have x, y, z; of `boxes` both corners; of `spheres` centre and radius; of `capsules` both ends and the
    /// radius; of `oriented` centre, half edges and three axes of unit length; of `convex` a half-space each, n_x, n_y, n_z
    /// and d for n · x <= d, of which shape i has those from u4 (k + 1,) `convex_offsets`[i] to [i + 1]. The first three are
    /// exact; of the others none is missed, and few are too many.
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
    Capsules(Asked<Capsule>),
    Oriented(Asked<OrientedBox>),
    /// Half-spaces of all, and where those of each begin.
    Convex(Vec<[f32; 4]>, Asked<[usize; 2]>),
}

fn read(args: &Args, boxes: &[Aabb]) -> Result<Shapes> {
    match made(&args.shapes) {
        Some(("cubes", count)) => {
            drop(reserved::<Aabb>(count)?);
            return Ok(Shapes::Boxes(Asked::plain(cubes(count, 1, boxes, ANSWERS))));
        }
        Some((kind, _)) => return Err(anyhow!("there are no shapes `{kind}`; there are cubes")),
        None => {}
    }
    let known = [&SHAPES[..], &[OFFSETS], &FILTERS[..]].concat();
    npz::open(&args.shapes, &known, |arrays| {
        let there: Vec<&str> = SHAPES.into_iter().filter(|name| arrays.has(name)).collect();
        let [name] = there[..] else { bail!("it needs one of {}, and not more", SHAPES.join(", ")) };
        ensure!(name == "convex" || !arrays.has(OFFSETS), "it has `{OFFSETS}`, which goes with `convex`");
        Ok(match name {
            "points" => Shapes::Points(rows(arrays, name, |&point: &[f32; 3]| point)?),
            "boxes" => {
                Shapes::Boxes(rows(arrays, name, |&[a, b, c, d, e, f]: &[f32; 6]| Aabb::new([a, b, c], [d, e, f]))?)
            }
            "spheres" => {
                let sphere = |&[x, y, z, radius]: &[f32; 4]| Sphere { center: [x, y, z], radius };
                Shapes::Spheres(rows(arrays, name, sphere)?)
            }
            "capsules" => {
                let capsule =
                    |&[a, b, c, d, e, f, radius]: &[f32; 7]| Capsule { from: [a, b, c], to: [d, e, f], radius };
                Shapes::Capsules(rows(arrays, name, capsule)?)
            }
            "oriented" => Shapes::Oriented(rows(arrays, name, oriented)?),
            _ => convex(arrays)?,
        })
    })
}

/// Reads the rows of an array as queries.
fn rows<Q, const N: usize>(
    arrays: &Arrays<FileReader>,
    name: &str,
    query: impl Fn(&[f32; N]) -> Q,
) -> Result<Asked<Q>> {
    let rows: Vec<[f32; N]> = arrays.table(name)?.unwrap_or_default();
    Ok(Asked { filters: filters_of(arrays, rows.len())?, queries: rows.iter().map(query).collect() })
}

fn oriented(row: &[f32; 15]) -> OrientedBox {
    let three = |at: usize| [row[at], row[at + 1], row[at + 2]];
    OrientedBox { center: three(0), half: three(3), axes: [three(6), three(9), three(12)] }
}

fn convex(arrays: &Arrays<FileReader>) -> Result<Shapes> {
    let half_spaces: Vec<[f32; 4]> = arrays.table("convex")?.unwrap_or_default();
    let offsets: Option<Vec<u32>> = arrays.any_column(OFFSETS)?;
    let offsets = offsets.with_context(|| format!("it has no `{OFFSETS}`, which `convex` needs"))?;
    let is_ascending = offsets.is_sorted() && offsets.first() == Some(&0);
    ensure!(
        is_ascending && offsets.last().is_some_and(|&last| last as usize == half_spaces.len()),
        "`{OFFSETS}` has to ascend from 0 to {}, the rows of `convex`",
        half_spaces.len()
    );
    let queries: Vec<[usize; 2]> = offsets.windows(2).map(|ends| [ends[0] as usize, ends[1] as usize]).collect();
    let filters = filters_of(arrays, queries.len())?;
    Ok(Shapes::Convex(half_spaces, Asked { queries, filters }))
}

/// Runs `broadsweep overlaps`.
pub fn run(args: &Args) -> Result<()> {
    let run = Run::start(&args.scene, &args.shapes, &args.common)?;
    match read(args, &run.boxes)? {
        Shapes::Points(asked) => ask(&run, &asked, "points"),
        Shapes::Boxes(asked) => ask(&run, &asked, "boxes"),
        Shapes::Spheres(asked) => ask(&run, &asked, "spheres"),
        Shapes::Capsules(asked) => ask(&run, &asked, "capsules"),
        Shapes::Oriented(asked) => ask(&run, &asked, "oriented boxes"),
        Shapes::Convex(half_spaces, Asked { queries, filters }) => {
            let shape = |&[first, end]: &[usize; 2]| Convex { half_spaces: &half_spaces[first..end] };
            ask(&run, &Asked { queries: queries.iter().map(shape).collect(), filters }, "convex shapes")
        }
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
            Ok(vec![offsets, Named::new("index", &[found.answers.len() as u64], &found.answers)])
        },
        |found| found.report.clone(),
    )
}
