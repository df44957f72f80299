//! Melts a crystal of Lennard-Jones atoms in a periodic box at constant energy, with a list of neighbours that is
//! reused over many steps.
//!
//! `cargo run --release --example liquid [STEPS] [SKIN] [FILE.svg]`; by default, 10,000 steps and a skin of 0.35.
//!
//! Units are reduced: the diameter σ and the mass of an atom and the depth ε of the potential are 1. The run fails if
//! energy is not conserved, if lists are not reused, or if forces differ from brute force in any bit.
//! docs/guide/src/neighbours.md explains it.

mod draw;

use std::array::from_fn;
use std::time::{Duration, Instant};

use broadsweep::cpu;
use broadsweep::neighbour::{NeighbourOptions, PeriodicCell};

/// Atoms per unit of volume: a liquid near its triple point.
const DENSITY: f64 = 0.8442;
/// Cubes along an edge of the face-centred crystal at the start, with four atoms each.
const CUBES: usize = 7;
/// The temperature of the crystal. Half of it becomes potential energy.
const START_TEMPERATURE: f64 = 1.44;
/// Atoms farther apart do not act on each other.
const CUTOFF: f64 = 2.5;
const TIME_STEP: f64 = 0.004;
/// Steps between two records of energies, two comparisons with brute force, and two samples of distances.
const RECORD_EVERY: u32 = 10;
const COMPARE_EVERY: u32 = 25;
const SAMPLE_EVERY: u32 = 50;
/// The fewest steps after which the start of the melting no longer counts as drift.
const LEAST_STEPS: u32 = 300;
/// The default of the skin, and the least steps per list with it, on average.
const SKIN: f64 = 0.35;
const LEAST_STEPS_PER_LIST: u32 = 5;
/// The largest change and drift of the total energy per atom. Velocity Verlet has an error that depends on the time
/// step, but no drift.
const MOST_CHANGE: f64 = 1e-3;
const MOST_DRIFT: f64 = 1e-4;

type Vector = [f64; 3];

/// Two atoms, and the shift of the second one.
type ShiftedPair = ([usize; 2], Vector);

/// The pairs within cutoff + skin. While no atom has moved by half of the skin, all other pairs are beyond the cutoff.
struct PairList {
    search: cpu::Neighbours<f64>,
    skin: f64,
    /// The positions at the last search.
    built_at: Vec<Vector>,
    build_count: u32,
    /// The time of searches and of checks for movement.
    time: Duration,
}

impl PairList {
    fn new(edge: f64, skin: f64) -> Self {
        let cell = PeriodicCell::orthorhombic([edge; 3]);
        let search = cpu::Neighbours::new(NeighbourOptions::new(CUTOFF + skin).with_cell(Some(cell)));
        Self { search, skin, built_at: vec![], build_count: 0, time: Duration::ZERO }
    }

    /// Searches again if an atom has moved by half of the skin. Returns whether the list is reused.
    fn update(&mut self, positions: &[Vector]) -> Result<bool, broadsweep::Error> {
        let start = Instant::now();
        let is_near = |(to, from)| square(&difference(to, from)) < (0.5 * self.skin).powi(2);
        let is_reused = self.build_count > 0 && positions.iter().zip(&self.built_at).all(is_near);
        if !is_reused {
            self.search.find(positions)?;
            self.built_at = positions.to_vec();
            self.build_count += 1;
        }
        self.time += start.elapsed();
        Ok(is_reused)
    }

    /// Lists the pairs. Shifts belong to the positions of the last search: do not wrap atoms into the box before the
    /// next search.
    fn pairs(&self) -> impl Iterator<Item = ShiftedPair> {
        let found = self.search.found();
        let pair_and_shift =
            |(pair, shift): (&broadsweep::Pair, &[i32; 3])| ([pair.a as usize, pair.b as usize], shift.map(f64::from));
        found.pairs.iter().zip(&found.shifts).map(pair_and_shift)
    }
}

/// The atoms. They are never wrapped into the box.
struct Liquid {
    edge: f64,
    positions: Vec<Vector>,
    velocities: Vec<Vector>,
    forces: Vec<Vector>,
    potential: f64,
}

impl Liquid {
    /// Creates a face-centred crystal with random velocities.
    fn crystal() -> Self {
        let spacing = (4.0 / DENSITY).cbrt();
        let corners = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
        let cube = |i: usize| [i / CUBES / CUBES, i / CUBES % CUBES, i % CUBES].map(|k| k as f64);
        let atoms_of = |cube: Vector| corners.map(|corner| from_fn(|k| spacing * (cube[k] + corner[k] + 0.25)));
        let positions: Vec<Vector> = (0..CUBES.pow(3)).map(cube).flat_map(atoms_of).collect();
        let count = positions.len();
        let mut random = Random(1);
        let mut velocities: Vec<Vector> = (0..count).map(|_| from_fn(|_| random.normal())).collect();
        // The atoms as a whole are at rest.
        let mean = from_fn(|k| velocities.iter().map(|velocity| velocity[k]).sum::<f64>() / count as f64);
        velocities.iter_mut().for_each(|velocity| *velocity = difference(velocity, &mean));
        let scale = (3.0 * START_TEMPERATURE * count as f64 / velocities.iter().map(square).sum::<f64>()).sqrt();
        velocities.iter_mut().flatten().for_each(|x| *x *= scale);
        let forces = vec![[0.0; 3]; count];
        Self { edge: spacing * CUBES as f64, positions, velocities, forces, potential: 0.0 }
    }

    /// Advances all atoms by a time step (velocity Verlet). Returns whether the list is reused.
    fn step(&mut self, list: &mut PairList) -> Result<bool, broadsweep::Error> {
        self.accelerate();
        for (position, velocity) in self.positions.iter_mut().zip(&self.velocities) {
            *position = from_fn(|k| position[k] + TIME_STEP * velocity[k]);
        }
        let is_reused = list.update(&self.positions)?;
        (self.forces, self.potential) = self.act(list.pairs());
        self.accelerate();
        Ok(is_reused)
    }

    /// Changes velocities by the forces of half of a time step.
    fn accelerate(&mut self) {
        for (velocity, force) in self.velocities.iter_mut().zip(&self.forces) {
            *velocity = from_fn(|k| velocity[k] + 0.5 * TIME_STEP * force[k]);
        }
    }

    /// Returns the forces and the potential energy of pairs within the cutoff. Potential and force are shifted to 0
    /// there.
    fn act(&self, pairs: impl Iterator<Item = ShiftedPair>) -> (Vec<Vector>, f64) {
        let (mut forces, mut potential) = (vec![[0.0; 3]; self.positions.len()], 0.0);
        let (energy_at_cutoff, force_at_cutoff) = lennard_jones(CUTOFF);
        for ([i, j], shift) in pairs {
            let vector: Vector = from_fn(|k| self.positions[j][k] - self.positions[i][k] + shift[k] * self.edge);
            let squared_distance = square(&vector);
            if squared_distance < CUTOFF * CUTOFF {
                let distance = squared_distance.sqrt();
                let (energy, force) = lennard_jones(distance);
                potential += energy - energy_at_cutoff + force_at_cutoff * (distance - CUTOFF);
                for k in 0..3 {
                    let along = (force - force_at_cutoff) / distance * vector[k];
                    forces[i][k] -= along;
                    forces[j][k] += along;
                }
            }
        }
        (forces, potential)
    }

    /// Lists all pairs of atoms, each with its nearest image.
    fn all_pairs(&self) -> impl Iterator<Item = ShiftedPair> {
        let count = self.positions.len();
        (0..count).flat_map(move |i| (i + 1..count).map(move |j| [i, j])).map(|[i, j]| {
            let vector = difference(&self.positions[j], &self.positions[i]);
            ([i, j], vector.map(|x| -(x / self.edge).round()))
        })
    }

    /// Returns kinetic and potential energy, per atom.
    fn energies(&self) -> [f64; 2] {
        let kinetic = 0.5 * self.velocities.iter().map(square).sum::<f64>();
        [kinetic, self.potential].map(|energy| energy / self.positions.len() as f64)
    }
}

/// Returns energy and repulsive force of two atoms at this distance.
fn lennard_jones(distance: f64) -> (f64, f64) {
    let sixth = distance.powi(-6);
    (4.0 * sixth * (sixth - 1.0), 24.0 * sixth * (2.0 * sixth - 1.0) / distance)
}

/// Counts of distances: the number of pairs in each shell, over several samples.
struct Distances {
    search: cpu::Neighbours<f64>,
    counts: Vec<u64>,
    sample_count: u32,
}

impl Distances {
    const SHELL: f64 = 0.04;

    /// Half of the edge is the largest distance at which all images of an atom but one are beyond.
    fn new(edge: f64) -> Self {
        let shell_count = (0.5 * edge / Self::SHELL) as usize;
        let options = NeighbourOptions::new(Self::SHELL * shell_count as f64)
            .with_cell(Some(PeriodicCell::orthorhombic([edge; 3])))
            .with_squared_distances(true);
        Self { search: cpu::Neighbours::new(options), counts: vec![0; shell_count], sample_count: 0 }
    }

    fn sample(&mut self, positions: &[Vector]) -> Result<(), broadsweep::Error> {
        for squared_distance in &self.search.find(positions)?.squared_distances {
            let shell = (squared_distance.sqrt() / Self::SHELL) as usize;
            if let Some(count) = self.counts.get_mut(shell) {
                *count += 1;
            }
        }
        self.sample_count += 1;
        Ok(())
    }

    /// Returns the radial distribution function: distances, and the density there relative to the mean density.
    fn density(&self, atom_count: usize) -> Vec<[f64; 2]> {
        let relative = |(shell, count): (usize, &u64)| {
            let [inner, outer] = [shell, shell + 1].map(|k| k as f64 * Self::SHELL);
            let volume = 4.0 / 3.0 * std::f64::consts::PI * (outer.powi(3) - inner.powi(3));
            // Each pair is counted once, and is a neighbour of two atoms.
            let neighbours = 2.0 * *count as f64 / atom_count as f64 / f64::from(self.sample_count);
            [0.5 * (inner + outer), neighbours / (DENSITY * volume)]
        };
        self.counts.iter().enumerate().map(relative).collect()
    }
}

/// A generator of random numbers: the upper bits of a linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    /// Returns a number of a normal distribution, nearly: the sum of twelve uniform ones.
    fn normal(&mut self) -> f64 {
        let mut uniform = |_| {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (self.0 >> 40) as f64 / (1u64 << 24) as f64
        };
        (0..12).map(&mut uniform).sum::<f64>() - 6.0
    }
}

fn difference(to: &Vector, from: &Vector) -> Vector {
    from_fn(|k| to[k] - from[k])
}

fn square(vector: &Vector) -> f64 {
    vector.iter().map(|x| x * x).sum()
}

/// The records of a run.
struct Run {
    /// Time, kinetic, potential and total energy per atom.
    energies: Vec<[f64; 4]>,
    distances: Distances,
    time: Duration,
    /// Comparisons with brute force in steps with a reused list.
    compared_reused: u32,
}

fn run(liquid: &mut Liquid, list: &mut PairList, step_count: u32) -> Result<Run, broadsweep::Error> {
    list.update(&liquid.positions)?;
    (liquid.forces, liquid.potential) = liquid.act(list.pairs());
    let distances = Distances::new(liquid.edge);
    let mut run = Run { energies: vec![], distances, time: Duration::ZERO, compared_reused: 0 };
    for step in 0..=step_count {
        let start = Instant::now();
        let is_reused = step > 0 && liquid.step(list)?;
        run.time += start.elapsed();
        if step % COMPARE_EVERY == 0 {
            // The same pairs in the same order, and the same shifts: not only close, but the same bits.
            let (forces, potential) = liquid.act(liquid.all_pairs());
            assert!(liquid.forces == forces && liquid.potential == potential, "step {step}: forces of other pairs");
            run.compared_reused += u32::from(is_reused);
        }
        if step % RECORD_EVERY == 0 {
            let [kinetic, potential] = liquid.energies();
            run.energies.push([f64::from(step) * TIME_STEP, kinetic, potential, kinetic + potential]);
        }
        if step >= step_count / 2 && step % SAMPLE_EVERY == 0 {
            run.distances.sample(&liquid.positions)?;
        }
    }
    Ok(run)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let step_count: u32 = arguments.next().map_or(Ok(10_000), |steps| steps.parse())?;
    let skin: f64 = arguments.next().map_or(Ok(SKIN), |skin| skin.parse())?;
    if step_count < LEAST_STEPS {
        return Err(format!("STEPS is {step_count}; it must be at least {LEAST_STEPS}").into());
    }
    let mut liquid = Liquid::crystal();
    let (start, atom_count, edge) = (liquid.positions.clone(), liquid.positions.len(), liquid.edge);
    println!("{atom_count} atoms in a box of {edge:.3}, {step_count} steps of {TIME_STEP}, skin {skin}");

    let mut list = PairList::new(edge, skin);
    let run = run(&mut liquid, &mut list, step_count)?;
    report(&run, &list, step_count);

    let moved = liquid.positions.iter().zip(&start).map(|(to, from)| square(&difference(to, from))).sum::<f64>();
    let moved = (moved / atom_count as f64).sqrt();
    let density = run.distances.density(atom_count);
    let peak = density.iter().copied().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap_or_default();
    println!(
        "distances: most at {:.2}, {:.2} times the mean density; atoms have moved by {moved:.2}",
        peak[0], peak[1]
    );
    assert!((1.0..1.2).contains(&peak[0]), "the nearest neighbours are at {}", peak[0]);
    // Atoms of a crystal stay within a fraction of their distance.
    assert!(step_count < 5_000 || moved > 1.0, "the crystal has not melted");

    if let Some(path) = arguments.next() {
        std::fs::write(&path, draw::picture(&liquid, &run.energies, &density)?)?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Prints what was measured, and checks that energy is conserved and that lists are reused.
fn report(run: &Run, list: &PairList, step_count: u32) {
    let total = |part: &[[f64; 4]]| part.iter().map(|energies| energies[3]).sum::<f64>() / part.len() as f64;
    let (records, first) = (&run.energies, run.energies[0][3]);
    let change = records.iter().map(|energies| (energies[3] - first).abs()).fold(0.0, f64::max);
    let tenth = records.len().div_ceil(10);
    let drift = total(&records[records.len() - tenth..]) - total(&records[..tenth]);
    let half = &records[records.len() / 2..];
    let temperature = 2.0 / 3.0 * half.iter().map(|energies| energies[1]).sum::<f64>() / half.len() as f64;
    println!(
        "energy: {first:.5} per atom, largest change {change:.1e}, drift {drift:.1e}; temperature {temperature:.3}"
    );

    let [all, search] = [run.time, list.time].map(|time| time.as_secs_f64());
    let pair_count = list.search.found().pairs.len();
    println!(
        "lists: {} of {pair_count} pairs, one in {:.1} steps",
        list.build_count,
        f64::from(step_count) / f64::from(list.build_count)
    );
    println!("time: {all:.2} s, of which {:.1} % finds neighbours", 100.0 * search / all);
    println!("brute force: the same forces, bit for bit, in {} steps with a reused list", run.compared_reused);

    assert!(
        change <= MOST_CHANGE && drift.abs() <= MOST_DRIFT,
        "the energy changed by {change} and drifted by {drift}"
    );
    if list.skin >= SKIN {
        assert!(
            list.build_count * LEAST_STEPS_PER_LIST <= step_count && run.compared_reused > 0,
            "{} lists",
            list.build_count
        );
    }
}
