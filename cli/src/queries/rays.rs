//! `broadsweep rays`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, anyhow};
use broadsweep::cpu::brute_force;
use broadsweep::{Aabb, Answers, Hit, Lists, Ray};
use laboratory::scenes::queries::RayKind;

use super::{Common, Named, QueryBatch, Run, generated, in_space, padded, reserved};

/// Find the boxes that rays hit
#[derive(clap::Args)]
pub struct Args {
    /// Boxes, as `broadsweep pairs` takes them
    #[arg(value_name = "SCENE.npy|SCENE.npz")]
    scene: PathBuf,

    /// Rays: an (m, 6) or (m, 7) array, in 2D (m, 4) or (m, 5): origin, direction and, in the last column of 7 or 5,
    /// the largest t
    ///
    /// t is in lengths of the direction, which need not be 1. The array has floats or integers, rounded to the nearest
    /// float32. An .npz file has this array as `rays`, and optional query filters: u4 (m,) `group`, `mask`, `body` and
    /// `world`, and `ignore`, the index of a box, and (m, 4) `sphere`, which the spheres of boxes must touch. KIND:N,
    /// such as camera:1000000, generates rays for the scene: camera, incoherent or short.
    #[arg(value_name = "RAYS.npy|RAYS.npz")]
    rays: PathBuf,

    /// The hits to find for each ray: the nearest, any, all, or the first K
    ///
    /// The arrays of --out: for nearest, u4 (m,) `index`, 2^32 - 1 for none, and f4 (m,) `t`, infinite for none; for K
    /// the same as (m, K), nearest first; for any, b1 (m,) `hit`; for all, u4 `index` and f4 `t`, ascending by index
    /// within a ray, and u8 (m + 1,) `offsets`, the position of the first hit of each ray in them.
    #[arg(long, value_name = "nearest|any|all|K", default_value = "nearest")]
    hits: Hits,

    /// Leave out boxes that contain the origin of the ray if it moves away from, or along, the nearest face
    #[arg(long)]
    skips_separating: bool,

    #[command(flatten)]
    common: Common,
}

/// The hits to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hits {
    Nearest,
    Any,
    All,
    First(usize),
}

impl FromStr for Hits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "nearest" => Ok(Self::Nearest),
            "any" => Ok(Self::Any),
            "all" => Ok(Self::All),
            _ => text.parse().map(Self::First).map_err(|_| "it must be nearest, any, all or a whole number".to_owned()),
        }
    }
}

fn read(path: &Path, boxes: &[Aabb]) -> Result<QueryBatch<Ray>> {
    if let Some((kind, count)) = generated(path)? {
        let kind: RayKind = kind.parse().map_err(|error: String| anyhow!(error))?;
        drop(reserved::<Ray>(count)?);
        return Ok(QueryBatch::plain(kind.generate(count, 1, boxes)));
    }
    super::read(path, "rays", &[4, 5, 6, 7], |row| {
        let (origin, rest) = row.split_at(row.len() / 2);
        let (direction, limit) = rest.split_at(origin.len());
        Ray {
            origin: in_space(origin),
            direction: in_space(direction),
            limit: limit.first().copied().unwrap_or(f32::INFINITY),
        }
    })
}

/// Runs `broadsweep rays`.
pub fn run(args: &Args) -> Result<()> {
    let run = Run::start(&args.scene, &args.rays, &args.common)?;
    let mut batch = read(&args.rays, &run.boxes)?;
    batch.filters.skips_separating = args.skips_separating;
    let (boxes, filters) = (&run.boxes, &run.filters);
    let by_brute_force = |batch: &QueryBatch<Ray>, k| brute_force::first_hits(batch.batch(), boxes, filters, k);
    match args.hits {
        Hits::Nearest => run.finish(
            &batch,
            "rays",
            |tree, batch| tree.nearest_hits(batch.batch()),
            |batch| by_brute_force(batch, 1).map(one_each),
            |found| {
                let (index, t) = columns(found.answers.iter().copied());
                let shape = [found.answers.len() as u64];
                Ok(vec![Named::new("index", &shape, &index), Named::new("t", &shape, &t)])
            },
        ),
        Hits::Any => run.finish(
            &batch,
            "rays",
            |tree, batch| tree.any_hits(batch.batch()),
            |batch| {
                let Answers { answers, report, .. } = one_each(by_brute_force(batch, 1)?);
                Ok(Answers::new(answers.iter().map(Hit::is_hit).collect(), report))
            },
            |found| Ok(vec![Named::new("hit", &[found.answers.len() as u64], &found.answers)]),
        ),
        Hits::First(k) => run.finish(
            &batch,
            "rays",
            |tree, batch| tree.first_hits(batch.batch(), k.min(boxes.len().max(1))),
            |batch| by_brute_force(batch, k),
            |found| {
                let (index, t) = padded(found, k, Hit::MISS, |hit| (hit.index, hit.t))?;
                let shape = [found.len() as u64, k as u64];
                Ok(vec![Named::new("index", &shape, &index), Named::new("t", &shape, &t)])
            },
        ),
        Hits::All => run.finish(
            &batch,
            "rays",
            |tree, batch| tree.all_hits(batch.batch()),
            |batch| brute_force::all_hits(batch.batch(), boxes, filters),
            |found| {
                let (index, t) = columns(found.answers.iter().copied());
                let shape = [index.len() as u64];
                let offsets = Named::new("offsets", &[found.offsets.len() as u64], &found.offsets);
                Ok(vec![offsets, Named::new("index", &shape, &index), Named::new("t", &shape, &t)])
            },
        ),
    }
}

fn columns(hits: impl Iterator<Item = Hit>) -> (Vec<u32>, Vec<f32>) {
    hits.map(|hit| (hit.index, hit.t)).unzip()
}

/// Returns the only hit of each list, or none.
fn one_each(lists: Lists<Hit>) -> Answers<Hit> {
    let answers = lists.iter().map(|row| row.first().copied().unwrap_or(Hit::MISS)).collect();
    Answers::new(answers, lists.report)
}
