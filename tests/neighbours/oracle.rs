//! Neighbours by their definition, in exact arithmetic, and the check of all lists of a search.

use broadsweep::Error;
use broadsweep::cpu::Neighbours;
use broadsweep::neighbour::{Coordinate, NeighbourOptions, NeighbourPairs, PeriodicCell, PointSet};
use num_bigint::BigInt;

use super::systems::{Set, System};

/// A pair with its shift.
pub type Found = (u32, u32, [i32; 3]);

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
pub fn brute_force(system: &System) -> Option<Vec<Found>> {
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
pub trait Finds<T: Coordinate> {
    fn set(&mut self, options: NeighbourOptions<T>);
    fn find(&mut self, points: PointSet<'_, T>) -> Result<&NeighbourPairs<T>, Error>;
    fn find_between(&mut self, queries: PointSet<'_, T>, points: PointSet<'_, T>) -> Result<&NeighbourPairs<T>, Error>;
}

/// Implements [`Finds`] by methods of the same names.
macro_rules! finds {
    ($engine:ident) => {
        impl<T: Coordinate> crate::oracle::Finds<T> for $engine<T> {
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
pub(crate) use finds;
finds!(Neighbours);

/// Finds the pairs of a system, with all lists. The memory of earlier searches changes nothing.
pub fn search<'a, T: Coordinate>(system: &System, engine: &'a mut impl Finds<T>) -> &'a NeighbourPairs<T> {
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
pub fn find<T: Coordinate>(system: &System, engine: &mut impl Finds<T>) -> Vec<Found> {
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
