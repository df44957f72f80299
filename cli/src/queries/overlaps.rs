//! `broadsweep overlaps`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use broadsweep::cpu::brute_force;
use broadsweep::query::{Capsule, Convex, OrientedBox, Shape, Sphere};
use broadsweep::{Aabb, Lists};
use laboratory::scenes::queries::cubes;
use rawzip::FileReader;

use super::{Common, FILTERS, Named, QueryBatch, Run, filters_of, generated, in_space, reserved};
use crate::npz::{self, Arrays};

/// The arrays of shapes that there can be.
const SHAPES: [&str; 6] = ["points", "boxes", "spheres", "capsules", "oriented", "convex"];
/// The array of the first half-space of each convex shape.
const OFFSETS: &str = "convex_offsets";
/// The approximate count of boxes that each generated cube touches.
const ANSWERS: f64 = 10.0;

/// Find the boxes that touch points, boxes, spheres and other shapes
#[derive(clap::Args)]
pub struct Args {
    /// Boxes, as `broadsweep pairs` takes them
    #[arg(value_name = "SCENE.npy|SCENE.npz")]
    scene: PathBuf,

    /// Shapes: an .npz file with one of `points`, `boxes`, `spheres`, `capsules`, `oriented` and `convex`
    ///
    /// A row of `points` has x, y, z; of `spheres` centre and radius; of `capsules` both ends and the radius; of
    /// `oriented` centre, half edges and three axes of unit length. `boxes` has the shapes of `broadsweep pairs`. A row
    /// of `convex` is a half-space, n_x, n_y, n_z and d for n · x <= d; shape i has the rows from u4 (k + 1,)
    /// `convex_offsets`[i] to [i + 1]. In 2D, rows have the same numbers without z, and `oriented` has two axes. The
    /// arrays have floats or integers. Numbers that float32 does not represent are rounded outward in `boxes`, and to
    /// nearest elsewhere.
    ///
    /// Points, boxes and spheres are exact. For the other shapes, the answer has every box that touches, and few that
    /// do not.
    ///
    /// Optional query filters are u4 (k,) `group`, `mask`, `body` and `world`, `ignore`, the index of a box, and (k, 4)
    /// `sphere`, which the spheres of boxes must touch. cubes:N generates cubes for the scene that touch about ten
    /// boxes each.
    ///
    /// The arrays of --out: u4 `index`, the boxes of one shape after the other, ascending within each, and u8 (k + 1,)
    /// `offsets`, the position of the first box of each shape in it.
    #[arg(value_name = "SHAPES.npz")]
    shapes: PathBuf,

    #[command(flatten)]
    common: Common,
}

/// Shapes of one kind.
enum Shapes {
    Points(QueryBatch<[f32; 3]>),
    Boxes(QueryBatch<Aabb>),
    Spheres(QueryBatch<Sphere>),
    Capsules(QueryBatch<Capsule>),
    Oriented(QueryBatch<OrientedBox>),
    /// Half-spaces of all, and where those of each begin.
    Convex(Vec<[f32; 4]>, QueryBatch<[usize; 2]>),
}

fn read(path: &Path, boxes: &[Aabb]) -> Result<Shapes> {
    match generated(path)? {
        Some(("cubes", count)) => {
            drop(reserved::<Aabb>(count)?);
            return Ok(Shapes::Boxes(QueryBatch::plain(cubes(count, 1, boxes, ANSWERS))));
        }
        Some((kind, _)) => bail!("there are no shapes `{kind}`; there are cubes:N"),
        None => {}
    }
    let known = [&SHAPES[..], &[OFFSETS], &FILTERS[..]].concat();
    npz::open(path, &known, |arrays| {
        let present: Vec<&str> = SHAPES.into_iter().filter(|name| arrays.has(name)).collect();
        let [name] = present[..] else { bail!("it needs exactly one of {}", SHAPES.join(", ")) };
        ensure!(name == "convex" || !arrays.has(OFFSETS), "it has `{OFFSETS}` without `convex`; remove it");
        Ok(match name {
            "points" => Shapes::Points(rows(arrays, name, [2, 3], in_space)?),
            "boxes" => {
                let queries = arrays.boxes(u64::MAX)?;
                Shapes::Boxes(QueryBatch { filters: filters_of(arrays, queries.len())?, queries })
            }
            "spheres" => Shapes::Spheres(rows(arrays, name, [3, 4], sphere)?),
            "capsules" => Shapes::Capsules(rows(arrays, name, [5, 7], capsule)?),
            "oriented" => Shapes::Oriented(rows(arrays, name, [8, 15], oriented)?),
            _ => convex(arrays)?,
        })
    })
}

/// Reads the rows of an array, which have one of these widths in 2D and in 3D, as queries.
fn rows<Q>(
    arrays: &Arrays<FileReader>,
    name: &str,
    widths: [u64; 2],
    query: impl Fn(&[f32]) -> Q,
) -> Result<QueryBatch<Q>> {
    let (width, numbers) = arrays.rows(name, &widths)?;
    let queries: Vec<Q> = numbers.chunks_exact(width).map(query).collect();
    Ok(QueryBatch { filters: filters_of(arrays, queries.len())?, queries })
}

fn sphere(row: &[f32]) -> Sphere {
    let (center, radius) = row.split_at(row.len() - 1);
    Sphere { center: in_space(center), radius: radius[0] }
}

fn capsule(row: &[f32]) -> Capsule {
    let (ends, radius) = row.split_at(row.len() - 1);
    let (from, to) = ends.split_at(ends.len() / 2);
    Capsule { from: in_space(from), to: in_space(to), radius: radius[0] }
}

fn oriented(row: &[f32]) -> OrientedBox {
    let dimension = if row.len() == 8 { 2 } else { 3 };
    let part = |i: usize| in_space(&row[i * dimension..(i + 1) * dimension]);
    // In 2D the third axis is that of z.
    let third = if dimension == 2 { [0.0, 0.0, 1.0] } else { part(4) };
    OrientedBox { center: part(0), half: part(1), axes: [part(2), part(3), third] }
}

fn convex(arrays: &Arrays<FileReader>) -> Result<Shapes> {
    let (width, numbers) = arrays.rows("convex", &[3, 4])?;
    let half_space = |row: &[f32]| {
        let [x, y, z] = in_space(&row[..width - 1]);
        [x, y, z, row[width - 1]]
    };
    let half_spaces: Vec<[f32; 4]> = numbers.chunks_exact(width).map(half_space).collect();
    let offsets: Option<Vec<u32>> = arrays.any_column(OFFSETS)?;
    let offsets = offsets.with_context(|| format!("it has no `{OFFSETS}`, which `convex` needs"))?;
    let is_ascending = offsets.is_sorted() && offsets.first() == Some(&0);
    ensure!(
        is_ascending && offsets.last().is_some_and(|&last| last as usize == half_spaces.len()),
        "`{OFFSETS}` must ascend from 0 to {}, the count of rows of `convex`",
        half_spaces.len()
    );
    let queries: Vec<[usize; 2]> = offsets.windows(2).map(|ends| [ends[0] as usize, ends[1] as usize]).collect();
    let filters = filters_of(arrays, queries.len())?;
    Ok(Shapes::Convex(half_spaces, QueryBatch { queries, filters }))
}

/// Runs `broadsweep overlaps`.
pub fn run(args: &Args) -> Result<()> {
    let run = Run::start(&args.scene, &args.shapes, &args.common)?;
    match read(&args.shapes, &run.boxes)? {
        Shapes::Points(batch) => answer(&run, &batch, "points"),
        Shapes::Boxes(batch) => answer(&run, &batch, "boxes"),
        Shapes::Spheres(batch) => answer(&run, &batch, "spheres"),
        Shapes::Capsules(batch) => answer(&run, &batch, "capsules"),
        Shapes::Oriented(batch) => answer(&run, &batch, "oriented boxes"),
        Shapes::Convex(half_spaces, QueryBatch { queries, filters }) => {
            let shape = |&[first, end]: &[usize; 2]| Convex { half_spaces: &half_spaces[first..end] };
            answer(&run, &QueryBatch { queries: queries.iter().map(shape).collect(), filters }, "convex shapes")
        }
    }
}

fn answer<S: Shape>(run: &Run<'_>, batch: &QueryBatch<S>, kind: &str) -> Result<()> {
    run.finish(
        batch,
        kind,
        |tree, batch| tree.overlaps(batch.batch()),
        |batch| brute_force::overlaps(batch.batch(), &run.boxes, &run.filters),
        |found: &Lists<u32>| {
            let offsets = Named::new("offsets", &[found.offsets.len() as u64], &found.offsets);
            Ok(vec![offsets, Named::new("index", &[found.answers.len() as u64], &found.answers)])
        },
    )
}
