//! `broadsweep rays`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow};
use broadsweep::internals::brute_queries;
use broadsweep::{Aabb, Answers, Hit, Lists, Ray};
use laboratory::scenes::queries::RayKind;

use super::{Asked, Common, FILTERS, Named, Run, filters_of, made, padded, reserved, rows};
use crate::input::has_extension;
use crate::npz;

/// Find the boxes that rays hit
#[derive(clap::Args)]
pub struct Args {
    /// Boxes, as `broadsweep pairs` takes them
    #[arg(value_name = "SCENE.npy|SCENE.npz")]
    scene: PathBuf,

    /// Rays: an (m, 6) or (m, 7) array of f4: origin, direction and, where there are seven, the largest t
    ///
    /// t counts in lengths of the direction, which need not be 1. An .npz has that array as `rays`, and beside it what
    /// each ray says of which boxes it meets, all of it optional: u4 (m,) `group`, `mask`, `body`, `world`, and `ignore`, a
    /// box. KIND:N, such as camera:1000000, makes rays for the scene: camera, incoherent or short.
    #[arg(value_name = "RAYS.npy|RAYS.npz")]
    rays: PathBuf,

    /// Which hits are wanted: nearest, any, all, or the number of first ones
    ///
    /// --out then has, for nearest, u4 (m,) `index`, 2^32 - 1 for none, and f4 (m,) `t`, infinite for none; for a number K
    /// the same as (m, K), nearest first; for any, b1 (m,) `hit`; for all, u8 (m + 1,) `offsets`, where the hits of each ray
    /// begin in u4 `index` and f4 `t`, ascending by index.
    #[arg(long, value_name = "nearest|any|all|K", default_value = "nearest")]
    hits: Hits,

    #[command(flatten)]
    common: Common,
}

/// Which hits are wanted.
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
            _ => text.parse().map(Self::First).map_err(|_| "it is nearest, any, all or a number".to_owned()),
        }
    }
}

fn read(path: &Path, boxes: &[Aabb]) -> Result<Asked<Ray>> {
    if let Some((kind, count)) = made(path) {
        let kind: RayKind = kind.parse().map_err(|error: String| anyhow!(error))?;
        drop(reserved::<Ray>(count)?);
        return Ok(Asked::plain(kind.generate(count, 1, boxes)));
    }
    if has_extension(path, "npz") {
        let known = [&["rays"], &FILTERS[..]].concat();
        return npz::open(path, &known, |arrays| {
            let rays: Vec<[f32; 7]> = match arrays.table::<f32, 7>("rays") {
                Ok(rays) => rays.context("it has no array `rays`, which is the one that it needs")?,
                // Perhaps without limits.
                Err(error) => match arrays.table::<f32, 6>("rays") {
                    Ok(rays) => rays
                        .context("it has no array `rays`, which is the one that it needs")?
                        .iter()
                        .map(endless)
                        .collect(),
                    Err(_) => return Err(error),
                },
            };
            let queries: Vec<Ray> = rays.iter().map(ray).collect();
            let filters = filters_of(arrays, queries.len())?;
            Ok(Asked { queries, filters })
        });
    }
    let (width, numbers) = rows(path, "rays", &[6, 7])?;
    let queries = match width {
        6 => numbers.as_chunks().0.iter().map(|row| ray(&endless(row))).collect(),
        _ => numbers.as_chunks().0.iter().map(ray).collect(),
    };
    Ok(Asked::plain(queries))
}

fn endless([ox, oy, oz, x, y, z]: &[f32; 6]) -> [f32; 7] {
    [*ox, *oy, *oz, *x, *y, *z, f32::INFINITY]
}

fn ray(&[ox, oy, oz, x, y, z, limit]: &[f32; 7]) -> Ray {
    Ray { origin: [ox, oy, oz], direction: [x, y, z], limit }
}

/// Runs `broadsweep rays`.
pub fn run(args: &Args) -> Result<()> {
    let run = Run::start(&args.scene, &args.rays, &args.common)?;
    let asked = read(&args.rays, &run.boxes)?;
    let (boxes, filters) = (&run.boxes, &run.filters);
    let by_brute_force = |asked: &Asked<Ray>, k| brute_queries::first_hits(asked.batch(), boxes, filters, k);
    let report = |lists: &Lists<Hit>| lists.report.clone();
    match args.hits {
        Hits::Nearest => run.finish(
            &asked,
            "rays",
            |tree, asked| tree.nearest_hits(asked.batch()),
            |asked| one_each(by_brute_force(asked, 1)),
            first_answers,
            |found| {
                let (index, t) = columns(found.answers.iter().copied());
                let shape = [found.answers.len() as u64];
                Ok(vec![Named::new("index", &shape, &index), Named::new("t", &shape, &t)])
            },
            |found| found.report.clone(),
        ),
        Hits::Any => run.finish(
            &asked,
            "rays",
            |tree, asked| tree.any_hits(asked.batch()),
            |asked| {
                let Answers { answers, report } = one_each(by_brute_force(asked, 1));
                Answers { answers: answers.iter().map(Hit::is_hit).collect(), report }
            },
            first_answers,
            |found| Ok(vec![Named::new("hit", &[found.answers.len() as u64], &found.answers)]),
            |found| found.report.clone(),
        ),
        Hits::First(k) => run.finish(
            &asked,
            "rays",
            |tree, asked| tree.first_hits(asked.batch(), k.min(boxes.len().max(1))),
            |asked| by_brute_force(asked, k),
            first_lists,
            |found| {
                let (index, t) = padded(found, k, Hit::MISS, |hit| (hit.index, hit.t))?;
                let shape = [found.len() as u64, k as u64];
                Ok(vec![Named::new("index", &shape, &index), Named::new("t", &shape, &t)])
            },
            report,
        ),
        Hits::All => run.finish(
            &asked,
            "rays",
            |tree, asked| tree.all_hits(asked.batch()),
            |asked| brute_queries::all_hits(asked.batch(), boxes, filters),
            first_lists,
            |found| {
                let (index, t) = columns(found.answers.iter().copied());
                let shape = [index.len() as u64];
                let offsets = Named::new("offsets", &[found.offsets.len() as u64], &found.offsets);
                Ok(vec![offsets, Named::new("index", &shape, &index), Named::new("t", &shape, &t)])
            },
            report,
        ),
    }
}

fn columns(hits: impl Iterator<Item = Hit>) -> (Vec<u32>, Vec<f32>) {
    hits.map(|hit| (hit.index, hit.t)).unzip()
}

/// Returns the only hit of each list, or none.
fn one_each(lists: Lists<Hit>) -> Answers<Hit> {
    let answers = lists.iter().map(|row| row.first().copied().unwrap_or(Hit::MISS)).collect();
    Answers { answers, report: lists.report }
}

/// Returns the answers to the first queries.
fn first_answers<T: Copy>(found: &Answers<T>, count: usize) -> Vec<T> {
    found.answers[..count].to_vec()
}

/// Returns the lists of the first queries.
pub fn first_lists<T: Copy>(found: &Lists<T>, count: usize) -> (Vec<u64>, Vec<T>) {
    (found.offsets[..=count].to_vec(), found.answers[..found.offsets[count] as usize].to_vec())
}
