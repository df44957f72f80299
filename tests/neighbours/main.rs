//! Neighbours of points against brute force in exact arithmetic: integers of any length.

use broadsweep::cpu::{self, Neighbours};
use broadsweep::neighbour::{Coordinate, NeighbourOptions, NeighbourPairs, PeriodicCell, PointSet};
use broadsweep::{Error, Pair};
use num_bigint::BigInt;

#[cfg(feature = "gpu")]
mod on_gpu;

/// A generator of numbers: the upper bits of a linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 32) as u32
    }

    fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.bits()) * u64::from(end)) >> 32) as u32
    }

    fn is_one_of(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }

    fn unit(&mut self) -> f64 {
        (f64::from(self.bits()) + f64::from(self.bits()) / 4_294_967_296.0) / 4_294_967_296.0
    }

    fn choose<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u32) as usize]
    }
}

/// A search, in numbers of `f64` that the type under test holds.
#[derive(Clone, Debug, Default)]
struct System {
    radius: f64,
    cell: Option<[[f64; 3]; 3]>,
    periodic: [bool; 3],
    points: Set,
    /// The second set, if there is one.
    queries: Option<Set>,
    both_directions: bool,
    self_images: bool,
}

#[derive(Clone, Debug, Default)]
struct Set {
    positions: Vec<[f64; 3]>,
    radii: Vec<f64>,
    worlds: Vec<u32>,
}

/// A pair with its shift.
type Found = (u32, u32, [i32; 3]);

/// Returns a finite number in units of 2⁻¹⁰⁷⁴.
fn exact(x: f64) -> BigInt {
    let (bits, stored) = (x.to_bits(), (x.to_bits() >> 52 & 0x7ff) as usize);
    let fraction = bits & ((1 << 52) - 1);
    let magnitude = if stored == 0 { BigInt::from(fraction) } else { BigInt::from(fraction | 1 << 52) << (stored - 1) };
    if x < 0.0 { -magnitude } else { magnitude }
}

/// Returns the displacement of a pair, exactly.
fn vector(system: &System, from: &[f64; 3], to: &[f64; 3], shift: [i32; 3]) -> [BigInt; 3] {
    let cell = system.cell.unwrap_or_default();
    std::array::from_fn(|k| {
        let start = exact(to[k]) - exact(from[k]);
        // A vector of a direction that is not periodic may be NaN.
        (0..3).filter(|&m| shift[m] != 0).fold(start, |sum, m| sum + exact(cell[m][k]) * shift[m])
    })
}

fn square(vector: &[BigInt; 3]) -> BigInt {
    vector.iter().map(|x| x * x).sum()
}

/// Bounds the shifts of pairs: by the dual basis of the periodic directions, with a margin.
fn most_shifts(system: &System, reach: f64) -> [i32; 3] {
    let Some(cell) = system.cell else { return [0; 3] };
    let periodic: Vec<usize> = (0..3).filter(|&k| system.periodic[k]).collect();
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let mut most = [0; 3];
    for (at, &k) in periodic.iter().enumerate() {
        let others: Vec<[f64; 3]> =
            periodic.iter().cycle().skip(at + 1).take(periodic.len() - 1).map(|&m| cell[m]).collect();
        let normal = match others[..] {
            [] => cell[k],
            [other] => cross(cross(cell[k], other), other),
            [a, b] => cross(a, b),
            _ => unreachable!(),
        };
        let height = dot(cell[k], normal).abs() / dot(normal, normal).sqrt();
        most[k] = (reach / height * (1.0 + 1e-6) + 1.0).min(1e9) as i32;
    }
    most
}

/// Finds the pairs by the definition; none if that would take too long.
fn brute_force(system: &System) -> Option<Vec<Found>> {
    let (is_one, queries) = (system.queries.is_none(), system.queries.as_ref().unwrap_or(&system.points));
    let radius = |set: &Set, i: usize| set.radii.get(i).copied().unwrap_or_default();
    let world = |set: &Set, i: usize| set.worlds.get(i).copied().unwrap_or_default();
    let is_finite = |point: &[f64; 3]| point.iter().all(|x| x.is_finite());
    let mut found = vec![];
    for (i, from) in queries.positions.iter().enumerate().filter(|(_, point)| is_finite(point)) {
        for (j, to) in system.points.positions.iter().enumerate().filter(|(_, point)| is_finite(point)) {
            if world(queries, i) != world(&system.points, j) || is_one && !system.both_directions && j < i {
                continue;
            }
            let radii = [system.radius, radius(queries, i), radius(&system.points, j)];
            let limit: BigInt = radii.iter().map(|&radius| exact(radius)).sum();
            let limit = &limit * &limit;
            let apart = (0..3).map(|k| to[k] - from[k]).fold(0.0, f64::hypot);
            let most = most_shifts(system, apart + radii.iter().sum::<f64>());
            if most.iter().map(|&most| 2.0 * f64::from(most) + 1.0).product::<f64>() > 3000.0 {
                return None;
            }
            for x in -most[0]..=most[0] {
                for y in -most[1]..=most[1] {
                    for z in -most[2]..=most[2] {
                        let shift = [x, y, z];
                        let is_counted = !is_one
                            || i < j
                            || i > j
                            || system.self_images && (shift > [0; 3] || system.both_directions && shift != [0; 3]);
                        if is_counted && square(&vector(system, from, to, shift)) <= limit {
                            found.push((i as u32, j as u32, shift));
                        }
                    }
                }
            }
        }
    }
    Some(found)
}

/// The calls of a search on either engine.
trait Finds<T: Coordinate> {
    fn set(&mut self, options: NeighbourOptions<T>);
    fn find(&mut self, points: PointSet<'_, T>) -> Result<&NeighbourPairs<T>, Error>;
    fn find_between(&mut self, queries: PointSet<'_, T>, points: PointSet<'_, T>) -> Result<&NeighbourPairs<T>, Error>;
}

/// Implements [`Finds`] by methods of the same names.
macro_rules! finds {
    ($engine:ident) => {
        impl<T: Coordinate> crate::Finds<T> for $engine<T> {
            fn set(&mut self, options: NeighbourOptions<T>) {
                self.set_options(options);
            }

            fn find(&mut self, points: PointSet<'_, T>) -> Result<&NeighbourPairs<T>, Error> {
                self.find(points)
            }

            fn find_between(
                &mut self,
                queries: PointSet<'_, T>,
                points: PointSet<'_, T>,
            ) -> Result<&NeighbourPairs<T>, Error> {
                self.find_between(queries, points)
            }
        }
    };
}
#[cfg(feature = "gpu")]
use finds;
finds!(Neighbours);

/// Finds the pairs of a system, with all lists. The memory of earlier searches changes nothing.
fn search<'a, T: Coordinate>(system: &System, engine: &'a mut impl Finds<T>) -> &'a NeighbourPairs<T> {
    let typed = |list: &[f64]| list.iter().map(|&x| T::nearest(x)).collect::<Vec<_>>();
    let places = |set: &Set| set.positions.iter().map(|point| point.map(T::nearest)).collect::<Vec<_>>();
    let cell =
        system.cell.map(|cell| PeriodicCell::new(cell.map(|row| row.map(T::nearest))).with_periodic(system.periodic));
    let options = NeighbourOptions::new(T::nearest(system.radius))
        .with_cell(cell)
        .with_both_directions(system.both_directions)
        .with_self_images(system.self_images)
        .with_vectors(true)
        .with_squared_distances(true);
    engine.set(options);
    let (positions, radii) = (places(&system.points), typed(&system.points.radii));
    let points = PointSet::new(&positions).with_radii(&radii).with_worlds(&system.points.worlds);
    match &system.queries {
        None => engine.find(points).unwrap(),
        Some(set) => {
            let (positions, radii) = (places(set), typed(&set.radii));
            engine.find_between(PointSet::new(&positions).with_radii(&radii).with_worlds(&set.worlds), points).unwrap()
        }
    }
}

/// Finds the pairs of a system, and checks all lists.
fn find<T: Coordinate>(system: &System, engine: &mut impl Finds<T>) -> Vec<Found> {
    let found = search(system, engine);
    check_lists(system, found);
    let shift = |at: usize| found.shifts.get(at).copied().unwrap_or_default();
    found.pairs.iter().enumerate().map(|(at, pair)| (pair.a, pair.b, shift(at))).collect()
}

fn check_lists<T: Coordinate>(system: &System, found: &NeighbourPairs<T>) {
    let queries = system.queries.as_ref().unwrap_or(&system.points);
    assert_eq!(found.offsets.len(), queries.positions.len() + 1);
    assert_eq!(found.shifts.len(), if system.cell.is_some() { found.pairs.len() } else { 0 });
    for i in 0..queries.positions.len() {
        assert!(found.pairs[found.row(i)].iter().all(|pair| pair.a == i as u32));
    }
    for (at, pair) in found.pairs.iter().enumerate() {
        let shift = found.shifts.get(at).copied().unwrap_or_default();
        let (from, to) = (&queries.positions[pair.a as usize], &system.points.positions[pair.b as usize]);
        let vector = vector(system, from, to, shift);
        let square_of_pair: f64 = found.squared_distances[at].into();
        // Squares are in units of 2⁻²¹⁴⁸.
        let is_at_most = |number: f64| (exact(number) << 1074) <= square(&vector);
        assert!(is_at_most(square_of_pair), "{system:?} {pair:?} {shift:?} {square_of_pair:e}");
        let is_single = size_of::<T>() == 4;
        let next = if is_single { f64::from((square_of_pair as f32).next_up()) } else { square_of_pair.next_up() };
        assert!(next == f64::INFINITY || !is_at_most(next), "{system:?} {pair:?} {shift:?} {square_of_pair:e}");
        for (component, expected) in found.vectors[at].iter().zip(&vector) {
            let x: f64 = (*component).into();
            let (below, above) = if is_single {
                (f64::from((x as f32).next_down()), f64::from((x as f32).next_up()))
            } else {
                (x.next_down(), x.next_up())
            };
            let is_near = (below == f64::NEG_INFINITY || exact(below) <= *expected)
                && (above == f64::INFINITY || *expected <= exact(above));
            assert!(is_near, "{system:?} {pair:?} {shift:?} {x:e}");
        }
    }
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
fn system(random: &mut Random, is_single: bool) -> (System, bool) {
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

/// Compares so many generated systems, and returns the number of pairs.
fn compare(seed: u64, count: u32) -> usize {
    let mut random = Random(seed);
    let (mut doubles, mut singles) =
        (Neighbours::<f64>::new(NeighbourOptions::new(0.0)), Neighbours::<f32>::new(NeighbourOptions::new(0.0)));
    let (mut compared, mut pairs, mut far) = (0, 0, 0);
    while compared < count {
        let is_single = random.is_one_of(2);
        let (system, is_far) = system(&mut random, is_single);
        let Some(expected) = brute_force(&system) else { continue };
        let found = if is_single { find(&system, &mut singles) } else { find(&system, &mut doubles) };
        assert!(found == expected, "{compared}: {system:?}\nfound {found:?}\nexpected {expected:?}");
        compared += 1;
        pairs += found.len();
        far += u32::from(is_far);
    }
    assert!(far > count / 4, "{far} of {count} systems are far from the origin");
    pairs
}

#[test]
fn pairs_of_generated_systems_are_those_of_exact_arithmetic() {
    assert!(compare(1, 2_000) > 2_000);
}

#[test]
#[ignore = "long"]
fn pairs_of_ten_thousand_systems_are_those_of_exact_arithmetic() {
    assert!(compare(3, 10_000) > 10_000);
}

mod at_length {
    #[test]
    #[ignore = "takes minutes"]
    fn pairs_of_a_hundred_thousand_systems_are_those_of_exact_arithmetic() {
        assert!(super::compare(2, 100_000) > 100_000);
    }
}

/// Generates points in a cube, of which each has some neighbours.
fn cloud(seed: u64, count: usize, edge: f64) -> Vec<[f64; 3]> {
    let mut random = Random(seed);
    (0..count).map(|_| [0; 3].map(|_| edge * random.unit())).collect()
}

fn all_pairs(points: &[[f64; 3]], radius: f64) -> Vec<Pair> {
    let is_pair = |a: usize, b: usize| {
        let along = |k: usize| points[a][k] - points[b][k];
        along(0) * along(0) + along(1) * along(1) + along(2) * along(2) <= radius * radius
    };
    let pairs = (0..points.len()).flat_map(|a| (a + 1..points.len()).map(move |b| (a, b)));
    pairs.filter(|&(a, b)| is_pair(a, b)).map(|(a, b)| Pair { a: a as u32, b: b as u32 }).collect()
}

#[test]
fn many_points_have_the_pairs_of_the_double_loop() {
    for (radius, edge) in [(1.0, 12.0), (1.0, 40.0), (3.0, 5.0), (1e-3, 1.0), (1.0, 1e9)] {
        let points = cloud(3, 3_000, edge);
        let expected = all_pairs(&points, radius);
        assert_eq!(cpu::find_neighbours(&points, radius).unwrap().pairs, expected, "{radius} {edge}");
    }
}

#[test]
fn clusters_far_from_each_other_cost_no_more_than_alone() {
    // Two dense clusters 10³⁰ apart, and a line of single points: a grid over all of it would have one cell per
    // cluster.
    let mut points = cloud(4, 20_000, 30.0);
    points
        .extend(cloud(5, 20_000, 30.0).iter().map(|point| [point[0] * 1e-20, point[1] * 1e-20 + 1e30, 0.0]).take(500));
    points.extend((0..1000).map(|k| [f64::from(k) * 1e20, f64::from(k) * -1e25, 1e9]));
    let found = cpu::find_neighbours(&points, 1.0).unwrap();
    let mut expected = all_pairs(&points[..20_000], 1.0);
    expected.extend((20_000..20_500).flat_map(|a| (a + 1..20_500).map(move |b| Pair { a, b })));
    assert_eq!(found.pairs, expected);
}

#[test]
fn one_thread_and_two_return_the_same_bytes() {
    let points = cloud(6, 30_000, 20.0);
    let cell = Some(PeriodicCell::new([[20.0, 0.0, 0.0], [3.0, 20.0, 0.0], [-4.0, 1.0, 20.0]]));
    let options = NeighbourOptions::new(1.25).with_cell(cell).with_vectors(true).with_squared_distances(true);
    let results = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut neighbours = Neighbours::new(options);
            neighbours.find(&points).unwrap();
            neighbours.take()
        })
    });
    assert!(results[0] == results[1]);
    assert!(results[0].pairs.len() > 100_000);
}

#[test]
fn wrapped_and_unwrapped_points_have_the_same_vectors() {
    let (edge, points) = (8.0, cloud(7, 500, 8.0));
    let moved: Vec<_> =
        points.iter().zip(0..).map(|(point, k)| [point[0], point[1] + edge * f64::from(k % 7 - 3), point[2]]).collect();
    // Coordinates are multiples of 2⁻²⁰, so that no shift rounds.
    let round = |points: &[[f64; 3]]| {
        points.iter().map(|point| point.map(|x| (x * 1048576.0).round() / 1048576.0)).collect::<Vec<_>>()
    };
    let options = NeighbourOptions::new(1.5).with_cell(Some(PeriodicCell::orthorhombic([edge; 3]))).with_vectors(true);
    let [wrapped, unwrapped] = [round(&points), round(&moved)].map(|points| {
        let mut neighbours = Neighbours::new(options);
        neighbours.find(&points).unwrap();
        neighbours.take()
    });
    assert_eq!((&wrapped.pairs, &wrapped.vectors), (&unwrapped.pairs, &unwrapped.vectors));
    assert_ne!(wrapped.shifts, unwrapped.shifts);
}

#[test]
fn points_that_are_not_finite_have_no_neighbours_and_are_counted() {
    let points = [[0.0; 3], [f32::NAN, 0.0, 0.0], [f32::INFINITY; 3], [f32::INFINITY; 3], [0.5, 0.0, 0.0]];
    let found = cpu::find_neighbours(&points, 1.0).unwrap();
    assert_eq!((found.pairs, found.invalid_count), (vec![Pair { a: 0, b: 4 }], 3));
    assert_eq!(found.offsets, [0, 1, 1, 1, 1, 1]);
    // Queries of which none is finite reach no image.
    let options = NeighbourOptions::new(0.1).with_cell(Some(PeriodicCell::orthorhombic([1.0; 3])));
    let mut neighbours = Neighbours::new(options);
    let found = neighbours.find_between(&[[f32::NAN; 3]], &points).unwrap();
    assert_eq!((found.pairs.len(), found.invalid_count), (0, 4));
    assert_eq!(neighbours.find(&points[1..4]).unwrap().offsets, [0; 4]);
    assert_eq!(neighbours.find(&points).unwrap().pairs.len(), 0);
}

#[test]
fn a_result_can_be_read_until_the_next_call_and_is_empty_after_an_error() {
    let mut neighbours = Neighbours::new(NeighbourOptions::new(1.0));
    assert_eq!(neighbours.found(), &NeighbourPairs::default());
    let found = neighbours.find(&[[0.0f32; 3], [0.5; 3]]).unwrap().clone();
    assert_eq!((neighbours.found(), found.pairs.len()), (&found, 1));
    neighbours.find(&[[0.0; 3], [9.0; 3]]).unwrap();
    assert!(neighbours.found().pairs.is_empty() && neighbours.found().offsets.len() == 3);
    neighbours.set_options(NeighbourOptions::new(-1.0));
    neighbours.find(&[[0.0; 3]]).unwrap_err();
    assert_eq!(neighbours.found(), &NeighbourPairs::default());
}

#[test]
fn values_without_meaning_are_refused_by_name() {
    let points = [[0.0f32; 3], [1.0; 3]];
    for radius in [-1.0, f32::NAN, f32::INFINITY] {
        let error = cpu::find_neighbours(&points, radius).unwrap_err();
        assert!(matches!(error, Error::BadOption { option: "radius", .. }), "{error}");
    }
    let mut neighbours = Neighbours::new(NeighbourOptions::new(1.0));
    let set = PointSet::new(&points);
    for (bad, list) in [
        (set.with_radii(&[1.0]), "radii"),
        (set.with_radii(&[1.0, -1.0]), "radii"),
        (set.with_radii(&[f32::NAN, 1.0]), "radii"),
        (set.with_worlds(&[1, 2, 3]), "worlds"),
        (set.with_worlds(&[1, u32::MAX]), "worlds"),
    ] {
        let error = neighbours.find(bad).unwrap_err();
        assert!(matches!(&error, Error::BadPoints { list: found, .. } if *found == list), "{error}");
    }
    assert!(neighbours.find(set).is_ok());
}

#[test]
fn cells_without_volume_are_refused_along_periodic_directions_alone() {
    let flat = PeriodicCell::new([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]);
    let find = |periodic: [bool; 3], vector: f32| {
        let mut cell = flat.with_periodic(periodic);
        cell.vectors[2][0] = vector;
        Neighbours::new(NeighbourOptions::new(0.5).with_cell(Some(cell)))
            .find(&[[0.0f32; 3]])
            .map(|found| found.pairs.len())
    };
    for (periodic, vector) in
        [([true; 3], 0.0), ([true, true, false], 0.0), ([false, false, true], 0.0), ([false, false, true], f32::NAN)]
    {
        assert!(matches!(find(periodic, vector), Err(Error::BadCell { .. })), "{periodic:?}");
    }
    assert_eq!(find([true, false, false], f32::NAN).unwrap(), 0);
    assert_eq!(find([false; 3], f32::NAN).unwrap(), 0);
    let parallel = PeriodicCell::new([[1.0, 2.0, 3.0], [0.1, 0.7, 0.3], [1.1, 2.7, 3.3]]);
    let result = Neighbours::new(NeighbourOptions::new(0.5).with_cell(Some(parallel))).find(&[[0.0; 3]]).map(|_| ());
    assert!(matches!(result, Err(Error::BadCell { .. })), "{result:?}");
}

#[test]
fn too_many_images_and_points_too_far_out_are_refused() {
    let cell = |edge: f64| Some(PeriodicCell::orthorhombic([edge; 3]));
    let find = |edge: f64, at: f64| {
        Neighbours::new(NeighbourOptions::new(1.0).with_cell(cell(edge)))
            .find(&[[at, 0.0, 0.0]])
            .map(|found| found.pairs.len())
    };
    assert!(matches!(find(1e-4, 0.0), Err(Error::TooManyImages { point_count: 1, .. })));
    assert!(matches!(find(1.0, 1e12), Err(Error::BadPoints { list: "positions", .. })));
    assert_eq!(find(1.0, 1e8).unwrap(), 3);
}

#[test]
fn a_needle_has_the_pairs_of_the_cell_that_it_is_equivalent_to() {
    let find = |skew: f64| {
        let cell = PeriodicCell::new([[1.0, 0.0, 0.0], [skew, 1.0, 0.0], [skew, -skew, 1.0]]);
        let options = NeighbourOptions::new(2.5).with_cell(Some(cell)).with_vectors(true).with_both_directions(true);
        let mut neighbours = Neighbours::new(options);
        let mut vectors = neighbours.find(&[[0.25, 0.5, 0.75], [0.0, 0.0, 0.5]]).unwrap().vectors.clone();
        vectors.sort_by(|a, b| a.partial_cmp(b).unwrap());
        vectors
    };
    assert_eq!(find(0.0), find(4096.0));
    assert!(find(0.0).len() > 200);
}
