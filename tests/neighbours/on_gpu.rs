//! Searches on a GPU against the CPU engine, byte by byte.

#[path = "../common/mod.rs"]
mod common;

use broadsweep::neighbour::{Coordinate, NeighbourOptions, NeighbourPairs, PeriodicCell, PointSet};
use broadsweep::{Error, Neighbours, Pair, cpu};

use self::common::GPU;
use super::oracle::{finds, search};
use super::systems::{Random, System, cloud, system};

finds!(Neighbours);

fn on_gpu<T: Coordinate>() -> Neighbours<T> {
    Neighbours::new(&GPU, NeighbourOptions::new(T::default())).unwrap()
}

fn on_cpu<T: Coordinate>() -> cpu::Neighbours<T> {
    cpu::Neighbours::new(NeighbourOptions::new(T::default()))
}

/// Compares both engines, and returns the number of pairs.
fn compare<T: Coordinate>(system: &System, gpu: &mut Neighbours<T>, cpu: &mut cpu::Neighbours<T>) -> usize {
    let (found, expected) = (search(system, gpu), search(system, cpu));
    assert!(found == expected, "{system:?}\nfound {found:?}\nexpected {expected:?}");
    found.pairs.len()
}

#[test]
fn generated_systems_have_the_same_bytes_on_both_engines() {
    let mut random = Random(8);
    let (mut singles, mut doubles) = ((on_gpu::<f32>(), on_cpu()), (on_gpu::<f64>(), on_cpu()));
    let mut pairs = 0;
    for _ in 0..150 {
        let is_single = random.is_one_of(2);
        let (system, _) = system(&mut random, is_single);
        pairs += if is_single {
            compare(&system, &mut singles.0, &mut singles.1)
        } else {
            compare(&system, &mut doubles.0, &mut doubles.1)
        };
    }
    assert!(pairs > 1_000, "{pairs}");
}

#[test]
fn many_points_have_the_same_bytes_on_both_engines() {
    let cell = PeriodicCell::new([[20.0, 0.0, 0.0], [3.0, 20.0, 0.0], [-4.0, 1.0, 20.0]]);
    let options = NeighbourOptions::new(1.25).with_vectors(true).with_squared_distances(true);
    let options = [
        options,
        options.with_both_directions(true),
        options.with_cell(Some(cell)),
        options.with_cell(Some(cell)).with_both_directions(true),
    ];
    let (mut gpu, mut cpu) = (on_gpu::<f64>(), on_cpu());
    for offset in [0.0, 1e9] {
        let points: Vec<_> = cloud(9, 5_000, 20.0).iter().map(|point| point.map(|x| x + offset)).collect();
        for options in options {
            gpu.set_options(options);
            cpu.set_options(options);
            let (found, expected) = (gpu.find(&points).unwrap(), cpu.find(&points).unwrap());
            assert!(found == expected, "{offset} {options:?}");
            assert!(found.pairs.len() > 10_000);
        }
    }
}

#[test]
fn a_dense_cluster_at_the_origin_keeps_its_precision_beside_a_far_point() {
    let mut points: Vec<[f64; 3]> = cloud(10, 2_000, 10.0).iter().map(|point| point.map(|x| x * 1e-6)).collect();
    points.push([1e30; 3]);
    let (mut gpu, mut cpu) = (on_gpu::<f64>(), on_cpu());
    gpu.set_options(NeighbourOptions::new(1e-6));
    cpu.set_options(NeighbourOptions::new(1e-6));
    let (found, expected) = (gpu.find(&points).unwrap(), cpu.find(&points).unwrap());
    assert!(found == expected && !found.pairs.is_empty());
}

#[test]
fn an_error_leaves_an_empty_result_and_the_search_usable() {
    let points = [[0.0f32; 3], [0.5, 0.0, 0.0], [f32::NAN, 0.0, 0.0]];
    let mut neighbours = on_gpu::<f32>();
    neighbours.set_options(NeighbourOptions::new(-1.0));
    assert!(matches!(neighbours.find(&points), Err(Error::BadOption { option: "radius", .. })));
    neighbours.set_options(NeighbourOptions::new(1.0));
    let bad = PointSet::new(&points).with_radii(&[1.0]);
    assert!(matches!(neighbours.find(bad), Err(Error::BadPoints { list: "radii", .. })));
    assert_eq!(neighbours.take(), NeighbourPairs::default());
    let found = neighbours.find(&points).unwrap();
    assert_eq!((&found.pairs[..], found.invalid_count), (&[Pair { a: 0, b: 1 }][..], 1));
    assert_eq!(neighbours.options().radius, 1.0);
}
