//! Pairs by box, left on the GPU.

use crate::common::device::{encoder, read, upload};
use crate::common::*;
use broadsweep::internals::{brute_force, mirror};
use broadsweep::record::{GpuCount, GpuIdentity, GpuNeighbours, PairHeader};
use broadsweep::wgpu;
use broadsweep::{Aabb, Error, Filters, Pair, PairOrder, Recorder};
use laboratory::scenes::Kind;

/// Runs what was recorded and reads offsets and neighbours of so many boxes.
fn run(encoder: wgpu::CommandEncoder, left: &GpuNeighbours, n: usize) -> (Vec<u32>, Vec<u32>, PairHeader) {
    let [mut offsets, mut neighbours, header] = read::<u32, 3>(encoder, [left.offsets, left.neighbours, left.header]);
    let header: PairHeader = bytemuck::pod_collect_to_vec(&header)[0];
    assert_eq!(header.capacity, left.capacity);
    offsets.truncate(n + 1);
    neighbours.truncate(header.written as usize);
    (offsets, neighbours, header)
}

fn check(found: (Vec<u32>, Vec<u32>, PairHeader), pairs: &[Pair], n: usize, what: &str) {
    let (offsets, neighbours, header) = found;
    assert_eq!((header.overflow, header.count as usize), (0, 2 * pairs.len()), "{what}");
    assert!((offsets, neighbours) == mirror::neighbours::neighbours(pairs, n as u32), "{what}");
}

#[test]
fn neighbours_of_recorded_pairs_and_events_are_those_of_brute_force() {
    let n = 1300;
    for options in [CANONICAL, ALL_PAIRS.with_order(PairOrder::Canonical), SWEEP] {
        let mut recorder = recorder(options);
        for kind in [Kind::Clusters, Kind::Infinite, Kind::Uniform] {
            let boxes = kind.generate(n, 7);
            let expected = brute_force::find_pairs(&boxes);
            recorder.reserve(n, expected.len() as u32).unwrap();
            let buffer = upload(&boxes);
            let mut recorded = encoder();
            recorder.record(&mut recorded, buffer.slice(..), n as u32).unwrap();
            let left = recorder.record_neighbours(&mut recorded).unwrap();
            check(run(recorded, &left, n), &expected, n, kind.name());
            if options.order == PairOrder::Sweep {
                continue;
            }

            // Of events, and of a number of boxes that lies in a buffer. Pairs at rest are among them.
            let fewer = brute_force::find_pairs(&boxes[..n - 100]);
            recorder.set_filters(Filters::default().with_sleeping(vec![true; n])).unwrap();
            let count = upload(&[n as u32 - 100]);
            let mut recorded = encoder();
            let count = GpuCount::Stored { count: count.slice(..), at_most: n as u32 };
            recorder.record_events(&mut recorded, buffer.slice(..), count, GpuIdentity::Index).unwrap();
            let left = recorder.record_neighbours(&mut recorded).unwrap();
            check(run(recorded, &left, n), &fewer, n, kind.name());
            recorder.set_filters(Filters::default()).unwrap();
        }
    }
}

#[test]
fn neighbours_of_a_list_that_is_too_short_are_none_and_those_of_a_longer_one_all() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let expected = brute_force::find_pairs(&boxes);
    let buffer = upload(&boxes);
    let mut recorder = Recorder::new(&GPU, CANONICAL).unwrap();
    assert_eq!(recorder.record_neighbours(&mut encoder()).unwrap_err(), Error::NothingRecorded);
    let mut recorded = encoder();
    recorder.record(&mut recorded, buffer.slice(..), 300).unwrap();
    let left = recorder.record_neighbours(&mut recorded).unwrap();
    let (offsets, neighbours, header) = run(recorded, &left, 300);
    assert_eq!((header.overflow, header.count, neighbours.len()), (1, 0, 0));
    assert_eq!(offsets, [0; 301]);
    // The whole list, written into a longer one.
    let mut recorded = encoder();
    recorder.record_window(&mut recorded, buffer.slice(..), 300, 0, expected.len() as u32).unwrap();
    let left = recorder.record_neighbours(&mut recorded).unwrap();
    check(run(recorded, &left, 300), &expected, 300, "longer");
}

#[test]
fn neighbours_are_refused_without_a_list_and_without_capacity() {
    let boxes = Kind::Uniform.generate(3000, 7);
    let buffer = upload(&boxes);
    let mut recorder = Recorder::new(&GPU, CANONICAL).unwrap();
    let budget = least_budget(&boxes, PairOrder::Canonical);
    recorder.set_options(CANONICAL.with_memory_budget(Some(budget))).unwrap();
    recorder.record(&mut encoder(), buffer.slice(..), 3000).unwrap();
    let error = recorder.record_neighbours(&mut encoder()).unwrap_err();
    assert!(matches!(error, Error::OverBudget { required, .. } if required > budget), "{error}");
    // With the reported budget and a little more, the memory stays within the budget. A longer pair list takes that
    // memory, and is not the recorded list.
    let Error::OverBudget { required, .. } = error else { unreachable!() };
    let budget = required + (2 << 20);
    recorder.set_options(CANONICAL.with_memory_budget(Some(budget))).unwrap();
    let held = |recorder: &Recorder| recorder.buffers().iter().map(|(_, bytes)| bytes).sum::<u64>();
    recorder.record(&mut encoder(), buffer.slice(..), 3000).unwrap();
    let refused = recorder.record_neighbours(&mut encoder()).err();
    assert!(refused.is_none() || held(&recorder) <= budget, "{refused:?}");
    recorder.reserve(3000, 1 << 20).unwrap();
    assert!(held(&recorder) <= budget);
    assert_eq!(recorder.record_neighbours(&mut encoder()).unwrap_err(), Error::NothingRecorded);
    recorder.set_options(CANONICAL).unwrap();
    recorder.record(&mut encoder(), buffer.slice(..), 3000).unwrap();
    recorder.record_neighbours(&mut encoder()).unwrap();
    recorder.reserve(3000, 200_000).unwrap();
    assert_eq!(recorder.record_neighbours(&mut encoder()).unwrap_err(), Error::NothingRecorded);
    recorder.set_filters(Filters::default()).unwrap();
    assert_eq!(recorder.record_neighbours(&mut encoder()).unwrap_err(), Error::NothingRecorded);
}
