//! Generated searches: points, queries, radii, worlds and cells that touch, repeat, or lie far from the origin.

/// A generator of numbers: the upper bits of a linear congruential generator (Knuth, MMIX).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 32) as u32
    }

    pub fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.bits()) * u64::from(end)) >> 32) as u32
    }

    pub fn is_one_of(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }

    pub fn unit(&mut self) -> f64 {
        (f64::from(self.bits()) + f64::from(self.bits()) / 4_294_967_296.0) / 4_294_967_296.0
    }

    pub fn choose<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u32) as usize]
    }
}

/// A search, in numbers of `f64` that the type under test holds.
#[derive(Clone, Debug, Default)]
pub struct System {
    pub radius: f64,
    pub cell: Option<[[f64; 3]; 3]>,
    pub periodic: [bool; 3],
    pub points: Set,
    /// The second set, if there is one.
    pub queries: Option<Set>,
    pub both_directions: bool,
    pub self_images: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Set {
    pub positions: Vec<[f64; 3]>,
    pub radii: Vec<f64>,
    pub worlds: Vec<u32>,
}

/// Rounds all numbers of a system to `f32`.
fn single(system: &System) -> System {
    let round = |x: f64| f64::from(x as f32);
    let set = |set: &Set| Set {
        positions: set.positions.iter().map(|point| point.map(round)).collect(),
        radii: set.radii.iter().map(|&radius| round(radius)).collect(),
        worlds: set.worlds.clone(),
    };
    System {
        radius: round(system.radius),
        cell: system.cell.map(|cell| cell.map(|row| row.map(round))),
        points: set(&system.points),
        queries: system.queries.as_ref().map(set),
        ..system.clone()
    }
}

/// Generates a cell: a box, a general one, or a needle whose vectors are long sums of short ones.
fn cell(random: &mut Random) -> [[f64; 3]; 3] {
    let lengths = [0; 3].map(|_| random.choose(&[1.0, 2.0, 0.5, 3.61, 10.0, 1.0 / 3.0]));
    let mut cell = [[lengths[0], 0.0, 0.0], [0.0, lengths[1], 0.0], [0.0, 0.0, lengths[2]]];
    let kind = random.below(4);
    for (k, m) in [(1, 0), (2, 0), (2, 1), (0, 1), (0, 2)] {
        let factor = match kind {
            1 => random.choose(&[0.0, 0.5, -0.5, 0.25]),
            2 => random.unit() - 0.5,
            3 => random.choose(&[0.0, 0.0, 3.0, -7.0, 20.0, 2.5]),
            _ => 0.0,
        };
        let other = cell[m];
        // Rows of a triangle only, unless the cell is general: others might lose their volume.
        if kind == 2 || k > m {
            (0..3).for_each(|axis| cell[k][axis] += factor * other[axis]);
        }
    }
    cell
}

fn position(random: &mut Random, cell: &[[f64; 3]; 3], kind: u32) -> [f64; 3] {
    let fraction = [0; 3].map(|_| match kind {
        0 => random.unit(),
        // On faces, edges and corners of the cell and on a lattice in it.
        1 => f64::from(random.below(5)) / 4.0,
        2 => f64::from(random.below(9)) - 4.0,
        _ => 6.0 * random.unit() - 3.0,
    });
    std::array::from_fn(|k| (0..3).map(|m| fraction[m] * cell[m][k]).sum())
}

/// Moves a number by some units in its last place.
fn nudge(random: &mut Random, x: f64, is_single: bool) -> f64 {
    let up = |x: f64| if is_single { f64::from((x as f32).next_up()) } else { x.next_up() };
    match random.below(6) {
        0 => up(x),
        1 => -up(-x),
        _ => x,
    }
}

fn set(random: &mut Random, cell: &[[f64; 3]; 3], offset: [f64; 3], is_single: bool) -> Set {
    let count = random.choose(&[0, 1, 2, 3, 5, 9]);
    let kind = random.below(4);
    let mut set = Set::default();
    for _ in 0..count {
        let position = position(random, cell, kind);
        set.positions.push(std::array::from_fn(|k| nudge(random, position[k] + offset[k], is_single)));
    }
    if count > 0 && random.is_one_of(12) {
        let at = random.below(count) as usize;
        set.positions[at][random.below(3) as usize] = random.choose(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    }
    if random.is_one_of(4) {
        set.worlds = (0..count).map(|_| random.choose(&[0, 1, 7])).collect();
    }
    if random.is_one_of(4) {
        set.radii = (0..count).map(|_| random.choose(&[0.0, 0.125, 0.5, 1.0 / 3.0])).collect();
    }
    set
}

/// Generates a system, and whether it is far from the origin.
pub fn system(random: &mut Random, is_single: bool) -> (System, bool) {
    let cell = cell(random);
    let has_cell = !random.is_one_of(4);
    // Farther points of a periodic cell are refused.
    let farthest = if is_single || has_cell { 1e5 } else { 1e12 };
    let far = random.choose(&[0.0, 0.0, 0.0, 100.0, 12_345.678, farthest]);
    let offset = [0; 3].map(|_| far * (4.0 * random.unit() - 2.0).round());
    let points = set(random, &cell, offset, is_single);
    let queries = random.is_one_of(4).then(|| set(random, &cell, offset, is_single));
    let radius = random.choose(&[0.0, 0.25, 0.5, 1.0, 1.25, 0.3, 2.0, 3.61, 5.0]);
    let mut system = System {
        radius: nudge(random, radius, is_single).max(0.0),
        cell: has_cell.then_some(cell),
        periodic: [0; 3].map(|_| !random.is_one_of(4)),
        points,
        queries,
        both_directions: random.is_one_of(2),
        self_images: !random.is_one_of(4),
    };
    if random.is_one_of(3) {
        touch(random, &mut system);
    }
    if random.is_one_of(8) {
        let exponents: &[i32] = if is_single { &[-130, -100, 60, 110] } else { &[-1021, -990, -700, 400, 1000] };
        let exponent = random.choose(exponents);
        scale(&mut system, f64::powi(2.0, exponent));
        // A cell of subnormal numbers has no volume.
        if exponent == -1021 {
            scale(&mut system, f64::powi(2.0, -39));
            system.cell = None;
        }
    }
    (if is_single { single(&system) } else { system }, offset != [0.0; 3])
}

/// Sets the radius to the distance of two points along an axis, as near as the numbers have it.
fn touch(random: &mut Random, system: &mut System) {
    let positions = &system.points.positions;
    if let [a, .., b] = positions[..] {
        let k = random.below(3) as usize;
        let distance = (a[k] - b[k]).abs();
        if distance < 6.0 {
            system.radius = distance;
        }
    }
}

fn scale(system: &mut System, factor: f64) {
    system.radius *= factor;
    system.cell.iter_mut().flatten().flatten().for_each(|x| *x *= factor);
    for set in [Some(&mut system.points), system.queries.as_mut()].into_iter().flatten() {
        set.positions.iter_mut().flatten().chain(&mut set.radii).for_each(|x| *x *= factor);
    }
}

/// Generates points in a cube, of which each has some neighbours.
pub fn cloud(seed: u64, count: usize, edge: f64) -> Vec<[f64; 3]> {
    let mut random = Random(seed);
    (0..count).map(|_| [0; 3].map(|_| edge * random.unit())).collect()
}
