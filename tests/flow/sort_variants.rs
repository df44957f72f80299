//! Every variant of the sort gives the same pairs in the same order, and a device gets one that it can run.

use crate::common::*;
use broadsweep::device::SortVariant;
use broadsweep::internals::grid::{self, sort, sort_variant};
use broadsweep::{BroadPhase, CellSize, Error, Gpu, Options, PairOrder};
use laboratory::scenes::Kind;

/// Returns the variants that the device can run.
fn variants() -> impl Iterator<Item = SortVariant> {
    SortVariant::ALL.into_iter().filter(|&variant| variant != SortVariant::Subgroup || GPU.has_subgroups())
}

#[test]
#[ignore = "long"]
fn every_variant_gives_the_same_bytes() {
    let orders = [PairOrder::Sweep, PairOrder::Canonical];
    // Numbers of boxes with an even and an odd number of digits.
    let scenes = [(Kind::Uniform, 0), (Kind::Uniform, 1), (Kind::Uniform, 200), (Kind::Uniform, 9000)];
    let scenes = scenes.into_iter().chain([(Kind::Pile, 4000), (Kind::Uniform, 80_000), (Kind::Diagonal, 3000)]);
    for (kind, n) in scenes {
        let boxes = kind.generate(n, 1);
        // One cell for all boxes is a short key.
        let cell_sizes = if n < 5000 { vec![CellSize::Auto, CellSize::Fixed(1e9)] } else { vec![CellSize::Auto] };
        for (order, cell_size) in cell_sizes.into_iter().flat_map(|size| orders.map(|order| (order, size))) {
            let options = Options::default().with_order(order).with_cell_size(cell_size);
            let mut first = None;
            for variant in variants() {
                let gpu = GPU.clone().with_sort(Some(variant)).unwrap();
                let mut broad_phase = BroadPhase::new(&gpu, options).unwrap();
                assert_eq!(grid::sort_variant(&gpu).unwrap(), variant);
                let found = broad_phase.find_pairs(&boxes).unwrap().clone();
                let first = first.get_or_insert_with(|| found.clone());
                assert_pairs(&found.pairs, &first.pairs, &format!("{n} {}: {variant:?}", kind.name()));
                assert_eq!(without_memory(&found.report), without_memory(&first.report));
            }
        }
    }
}

/// Creates a device without features.
fn bare() -> Gpu {
    device_with(Gpu::required_limits())
}

#[test]
fn a_device_without_the_features_sorts_without_subgroups_and_gives_the_same_pairs() {
    let bare = bare();
    assert!(!bare.has_subgroups());
    assert_eq!(grid::choose(&bare, &sort::BALLOT).unwrap(), SortVariant::Portable);
    let refused = bare.clone().with_sort(Some(SortVariant::Subgroup));
    assert!(matches!(refused, Err(Error::BadOption { .. })), "{refused:?}");

    let boxes = Kind::Spread.generate(5000, 3);
    let expected = on_gpu(&boxes, Options::default());
    for variant in [None, Some(SortVariant::Portable)] {
        let gpu = bare.clone().with_sort(variant).unwrap();
        let mut broad_phase = BroadPhase::new(&gpu, Options::default()).unwrap();
        assert_ne!(grid::sort_variant(&gpu).unwrap(), SortVariant::Subgroup);
        assert_pairs(&broad_phase.find_pairs(&boxes).unwrap().pairs, &expected.pairs, "bare");
    }
}

#[test]
fn a_requested_sort_holds_for_one_clone_and_the_best_one_for_all() {
    let best = sort_variant(&GPU).unwrap();
    assert_eq!(best, grid::choose(&GPU, &sort::BALLOT).unwrap());
    let requested = GPU.clone().with_sort(Some(SortVariant::Portable)).unwrap();
    assert_eq!(sort_variant(&requested).unwrap(), SortVariant::Portable);
    assert_eq!(sort_variant(&requested.with_sort(None).unwrap()).unwrap(), best);
    assert_eq!(sort_variant(&GPU).unwrap(), best);
}
