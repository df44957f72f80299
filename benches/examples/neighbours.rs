//! Times the neighbours of points on the CPU engine. Prints a row of CSV per case: nanoseconds per pair, the best of
//! several calls.
//!
//! `cargo run --release -p broadsweep-laboratory --example neighbours [MOST_POINTS]`
//!
//! `benches/neighbours.py` times the Python call beside other libraries.

use std::time::Instant;

use broadsweep::cpu::Neighbours;
use broadsweep::neighbour::{Coordinate, NeighbourOptions, PeriodicCell};

/// The mean number of neighbours of a point: 50 in both directions.
const NEIGHBOURS: f64 = 50.0;
/// The least calls and seconds of a case.
const LEAST: (u32, f64) = (3, 0.5);

/// A generator of numbers in [0, 1): the upper bits of a linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// Generates points with about one per unit of volume, where they are; returns them with the edge of their cube.
fn points(kind: &str, count: usize) -> (Vec<[f64; 3]>, f64) {
    let (mut random, edge) = (Random(1), (count as f64).cbrt());
    let points = match kind {
        "uniform" => (0..count).map(|_| [0; 3].map(|_| edge * random.next())).collect(),
        "crystal" => {
            let side = edge.round() as usize;
            let site = |i: usize| [i / side / side, i / side % side, i % side].map(|k| k as f64);
            (0..side * side * side).map(site).collect()
        }
        // A quarter of the points in 1/1000 of the volume: steps of a random walk.
        _ => {
            let mut at = [0.5 * edge; 3];
            let mut walk = |_| {
                at = at.map(|x| (x + 1.6 * (random.next() - 0.5)).clamp(0.0, edge - 0.01));
                at
            };
            (0..count).map(&mut walk).collect()
        }
    };
    (points, edge)
}

/// Seconds of the first call, which allocates, and the least of all; seconds of all threads per call; pairs.
struct Times {
    first: f64,
    best: f64,
    cpu: f64,
    pairs: usize,
}

/// Returns the CPU time of all threads of the process in seconds, in steps of 1/100; on systems other than Linux, the
/// elapsed seconds.
fn cpu_seconds(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system time are the 14th and 15th field; the second one may hold spaces.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    if ticks.len() == 2 { ticks.iter().sum::<f64>() / 100.0 } else { start.elapsed().as_secs_f64() }
}

fn time<T: Coordinate>(points: &[[T; 3]], options: NeighbourOptions<T>, threads: usize) -> Times {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut neighbours = Neighbours::new(options);
    let start = Instant::now();
    let mut run = || {
        let start = Instant::now();
        let pairs = pool.install(|| neighbours.find(points).unwrap().pairs.len());
        (start.elapsed().as_secs_f64(), pairs)
    };
    let (first, pairs) = run();
    let (cpu, mut best, mut calls) = (cpu_seconds(start), first, 0);
    while calls < LEAST.0 || cpu_seconds(start) - cpu < LEAST.1 {
        best = best.min(run().0);
        calls += 1;
    }
    Times { first, best, cpu: (cpu_seconds(start) - cpu) / f64::from(calls), pairs }
}

fn main() {
    let most = std::env::args().nth(1).map_or(1_000_000, |most| most.parse().expect("a number of points"));
    println!("kind,points,cell,type,threads,pairs,first_s,best_s,cpu_s,cpu_ns_per_pair");
    let radius = (NEIGHBOURS / (4.0 / 3.0 * std::f64::consts::PI)).cbrt();
    for kind in ["uniform", "crystal", "clustered"] {
        for count in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|count| *count <= most) {
            let (points, edge) = points(kind, count);
            let single: Vec<_> = points.iter().map(|point| point.map(|x| x as f32)).collect();
            for (is_periodic, threads) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
                let cell = is_periodic.then(|| PeriodicCell::orthorhombic([edge; 3]));
                let options = NeighbourOptions::new(radius).with_cell(cell);
                let cell = is_periodic.then(|| PeriodicCell::orthorhombic([edge as f32; 3]));
                let single_options = NeighbourOptions::new(radius as f32).with_cell(cell);
                let results =
                    [("f64", time(&points, options, threads)), ("f32", time(&single, single_options, threads))];
                for (number, Times { first, best, cpu, pairs }) in results {
                    let cell = if is_periodic { "periodic" } else { "none" };
                    let each = 1e9 * cpu / pairs.max(1) as f64;
                    let times = format!("{first:.4},{best:.4},{cpu:.4},{each:.2}");
                    println!("{kind},{count},{cell},{number},{threads},{pairs},{times}");
                }
            }
        }
    }
}
