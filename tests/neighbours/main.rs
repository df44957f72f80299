//! Neighbours of points against brute force in exact arithmetic: integers of any length.

use broadsweep::cpu::{self, Neighbours};
use broadsweep::neighbour::{NeighbourOptions, NeighbourPairs, PeriodicCell, PointSet};
use broadsweep::{Error, Pair};

use self::oracle::{brute_force, find};
use self::systems::{Random, cloud, system};

#[cfg(feature = "gpu")]
mod on_gpu;
mod oracle;
mod systems;

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
