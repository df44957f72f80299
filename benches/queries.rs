//! Time of building a tree and of batches of queries, of our engines and of other libraries, in one run.
//!
//! ```text
//! cargo bench -p broadsweep-laboratory --features peers --bench queries -- [OPTION ...] [KIND:N | FILE.npy ...]
//!   --runs R       measured runs of each row, after one that is not counted [5]
//!   --queries N    queries in a batch [1000000]
//!   --only TEXT    rows whose name contains this
//!   --threads N    threads of our engine; the others have one [1]
//! ```
//!
//! Runs are interleaved. Peers answer the same queries. The last column counts the answers: where those of a peer are others,
//! it rounds otherwise.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use broadsweep::{Aabb, NearestQuery, Options, Ray, cpu};
use laboratory::measure::time::Time;
use laboratory::scenes::SceneName;
use laboratory::scenes::queries::{RayKind, cubes, points};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut runs, mut count, mut threads, mut only, mut scenes) = (5, 1_000_000, 1, String::new(), Vec::new());
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--runs" => runs = value()?.parse()?,
            "--queries" => count = value()?.parse()?,
            "--only" => only = value()?,
            "--threads" => threads = value()?.parse()?,
            _ => scenes.push(argument),
        }
    }
    if scenes.is_empty() {
        scenes.push("uniform:1000000".to_owned());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    pool.install(|| {
        scenes.iter().try_for_each(|scene| measure(&scene.parse()?, &Race { runs, only: only.clone() }, count))
    })
}

/// A contestant in one row: what it is, and what runs it and returns a sum of its answers.
type Contestant<'a> = (&'static str, Box<dyn FnMut() -> u64 + 'a>);

/// How rows are measured.
struct Race {
    runs: usize,
    only: String,
}

impl Race {
    fn run(&self, what: &str, count: usize, mut contestants: Vec<Contestant>) {
        if !what.contains(&self.only) {
            return;
        }
        let runs = self.runs;
        let mut times = vec![Vec::new(); contestants.len()];
        let mut answers = vec![0; contestants.len()];
        for run in 0..=runs {
            for (at, (_, ask)) in contestants.iter_mut().enumerate() {
                let start = Instant::now();
                answers[at] = black_box(ask());
                if run > 0 {
                    times[at].push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
        let medians: Vec<f64> = times.into_iter().filter_map(Time::of).map(|time| time.median_ms).collect();
        for (at, ((name, _), &median)) in contestants.iter().zip(&medians).enumerate() {
            let rate = count as f64 / median / 1e3;
            println!(
                "{what:>24} {name:>12} {:>10.2} ms  {rate:>8.3} M/s  x{:<6.2} {}",
                median,
                median / medians[0],
                answers[at]
            );
        }
    }
}

fn measure(scene: &SceneName, race: &Race, count: usize) -> Result<()> {
    let boxes = scene.boxes(1)?;
    println!("{scene}: {} boxes", boxes.len());
    let mut tree = cpu::Tree::new();
    let mut pairs = cpu::BroadPhase::new(Options::default())?;
    tree.build(&boxes)?;
    let mut rebuilt = cpu::Tree::new();
    let mut refitted = cpu::Tree::new();
    refitted.build(&boxes)?;
    let mut building: Vec<Contestant> = vec![
        ("build", Box::new(|| rebuilt.build(&boxes).map_or(0, |report| u64::from(report.box_count)))),
        ("refit", Box::new(|| refitted.refit(&boxes).map_or(0, |report| u64::from(report.box_count)))),
        ("pairs", Box::new(|| pairs.find_pairs(&boxes).map_or(0, |overlaps| overlaps.pairs.len() as u64))),
    ];
    #[cfg(feature = "peers")]
    building.extend(peers::building(&boxes));
    race.run("build", boxes.len(), building);
    #[cfg(feature = "peers")]
    let peers = peers::Peers::new(&boxes);
    for kind in RayKind::ALL {
        let rays = kind.generate(count, 1, &boxes);
        let sum = |rays: &[Ray]| tree.nearest_hits(rays).map_or(0, |hits| hits.report.answer_count);
        let mut contestants: Vec<Contestant> = vec![("cpu", Box::new(|| sum(&rays)))];
        #[cfg(feature = "peers")]
        contestants.push(("parry", Box::new(|| peers.parry_rays(&rays))));
        contestants.push(("cpu any", Box::new(|| tree.any_hits(&rays).map_or(0, |hits| hits.report.answer_count))));
        race.run(&format!("{kind} rays"), count, contestants);
    }
    for answers in [10.0, 100.0, 1000.0] {
        let count = (count as f64 / answers) as usize;
        let asked = cubes(count, 1, &boxes, answers);
        let ours = || tree.overlaps(&asked).map_or(0, |lists| lists.report.answer_count);
        let mut contestants: Vec<Contestant> = vec![("cpu", Box::new(ours))];
        #[cfg(feature = "peers")]
        contestants.push(("parry", Box::new(|| peers.parry_boxes(&asked))));
        race.run(&format!("boxes, {answers} answers"), count, contestants);
    }
    for k in [1, 10] {
        let count = count / 10;
        let asked = points(count, 1, &boxes);
        let ours = |asked: &[NearestQuery]| tree.nearest(asked, k).map_or(0, |lists| lists.report.answer_count);
        let mut contestants: Vec<Contestant> = vec![("cpu", Box::new(|| ours(&asked)))];
        #[cfg(feature = "peers")]
        contestants.push(("rstar", Box::new(|| peers.rstar_nearest(&asked, k))));
        race.run(&format!("nearest {k}"), count, contestants);
    }
    Ok(())
}

#[cfg(feature = "peers")]
mod peers {
    use parry3d::bounding_volume::Aabb as Bounds;
    use parry3d::partitioning::{Bvh, BvhBuildStrategy};
    use parry3d::query::{Ray as ParryRay, RayCast};
    use rstar::primitives::{GeomWithData, Rectangle};
    use rstar::{AABB as Envelope, RTree};

    use super::{Aabb, Contestant, NearestQuery, Ray};

    /// Trees of other libraries.
    pub struct Peers {
        bounds: Vec<Bounds>,
        parry: Bvh,
        rstar: RTree<GeomWithData<Rectangle<[f32; 3]>, u32>>,
    }

    fn bounds(boxes: &[Aabb]) -> Vec<Bounds> {
        boxes.iter().map(|aabb| Bounds::new(aabb.min.into(), aabb.max.into())).collect()
    }

    /// Returns the builds of other libraries.
    pub fn building(boxes: &[Aabb]) -> Vec<Contestant<'_>> {
        let bounds = bounds(boxes);
        let build = move || {
            let tree = Bvh::from_iter(BvhBuildStrategy::Binned, bounds.iter().copied().enumerate());
            u64::from(tree.leaf_count())
        };
        vec![("parry", Box::new(build))]
    }

    impl Peers {
        pub fn new(boxes: &[Aabb]) -> Self {
            let bounds = bounds(boxes);
            let parry = Bvh::from_iter(BvhBuildStrategy::Binned, bounds.iter().copied().enumerate());
            let leaf = |(id, aabb): (u32, &Aabb)| {
                GeomWithData::new(Rectangle::from_aabb(Envelope::from_corners(aabb.min, aabb.max)), id)
            };
            Self { bounds, parry, rstar: RTree::bulk_load((0..).zip(boxes).map(leaf).collect()) }
        }

        pub fn parry_rays(&self, rays: &[Ray]) -> u64 {
            let hits = |ray: &&Ray| {
                let limit = ray.limit.min(f32::MAX);
                let own = ParryRay::new(ray.origin.into(), ray.direction.into());
                let check = |leaf: u32, best: f32| self.bounds[leaf as usize].cast_local_ray(&own, best, true);
                self.parry.cast_ray(&own, limit, check).is_some()
            };
            rays.iter().filter(hits).count() as u64
        }

        pub fn parry_boxes(&self, boxes: &[Aabb]) -> u64 {
            let mut found = Vec::new();
            for aabb in boxes {
                let asked = Bounds::new(aabb.min.into(), aabb.max.into());
                found.extend(self.parry.intersect_aabb(&asked));
            }
            found.len() as u64
        }

        pub fn rstar_nearest(&self, points: &[NearestQuery], k: usize) -> u64 {
            let mut found = Vec::new();
            for query in points {
                found.extend(self.rstar.nearest_neighbor_iter(query.point).take(k).map(|leaf| leaf.data));
            }
            found.len() as u64
        }
    }
}
