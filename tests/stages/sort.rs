//! `sort`: the whole of it and each of its kernels.

use std::sync::LazyLock;

use broadsweep::constants::*;
use broadsweep::cpu;
use broadsweep::gpu::kernel::Kernel;
use broadsweep::stages::layout::{Counts, SortPass, dispatch_size};
use broadsweep::stages::sort::{self, Lists, Sort};
use proptest::prelude::*;

use crate::inputs::Random;
use crate::*;

pub static SORT: LazyLock<Sort> = LazyLock::new(|| Sort::new(gpu()).unwrap());

/// Lists with something to sort in them.
pub fn lists(keys: &[u32], values: &[u32]) -> Lists {
    Lists {
        keys: guarded(keys),
        values: guarded(values),
        other_keys: poisoned(keys.len()),
        other_values: poisoned(values.len()),
        histograms: poisoned(keys.len().div_ceil(SORT_TILE as usize) * RADIX as usize),
    }
}

/// What is sorted, after a look at the guards of the scratch.
fn sorted(lists: &Lists) -> (Vec<u32>, Vec<u32>) {
    written(&lists.other_keys);
    written(&lists.other_values);
    written(&lists.histograms);
    (written(&lists.keys), written(&lists.values))
}

/// Sorts as entries and as pairs, with workgroups in a row and in columns.
fn check(keys: &[u32], key_bits: u32) {
    let n = keys.len() as u32;
    // Values that say where each key was: an unstable sort cannot hide.
    let values: Vec<u32> = (0..n).collect();
    let (mut expected_keys, mut expected_values) = (keys.to_vec(), values.clone());
    cpu::sort::sort(&mut expected_keys, &mut expected_values, key_bits);
    let expected = (expected_keys, expected_values);
    let groups = n.div_ceil(SORT_TILE);

    for tiles in [dispatch_size(groups), in_columns(groups)] {
        // The number of the other kind is wrong on purpose.
        let counts = upload(&[Counts { entry_count: n, written: n / 2 + 7, ..Counts::zeroed() }]);
        let sizes = dispatches(|sizes| {
            for pair in 0..key_bits.div_ceil(2 * RADIX_BITS) {
                sizes.sort_passes[pair as usize] = tiles;
            }
        });
        let entries = lists(keys, &values);
        run(|pass| SORT.record_entries(pass, &counts, &sizes, &entries));
        assert_eq!(sorted(&entries), expected, "{n} entries, {key_bits} bits");
    }
    let counts = upload(&[Counts { entry_count: n / 2 + 7, written: n, ..Counts::zeroed() }]);
    let sizes = dispatches(|sizes| sizes.sort_pairs = dispatch_size(groups));
    let pairs = lists(keys, &values);
    run(|pass| SORT.record_pairs(pass, &counts, &sizes, &pairs, key_bits));
    assert_eq!(sorted(&pairs), expected, "{n} pairs, {key_bits} bits");
}

fn random_keys(n: u32, mask: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.next() as u32 & mask).collect()
}

#[test]
fn random_keys_are_sorted_at_every_size_and_width() {
    for n in SIZES.into_iter().chain([4095, 4096, 4097, 8192, 12_345]) {
        for key_bits in [8, 16, 24, 32] {
            check(&random_keys(n, u32::MAX >> (32 - key_bits), u64::from(n)), key_bits);
        }
    }
}

#[test]
fn bits_above_the_key_do_not_count() {
    for key_bits in [8, 16, 24] {
        check(&random_keys(5000, u32::MAX, 1), key_bits);
    }
}

#[test]
fn equal_keys_keep_their_order() {
    for n in [1234, 4097, 20_000] {
        check(&vec![0xabcd_ef01; n as usize], 32);
        check(&random_keys(n, 0x0001_0001, 2), 32);
        check(&random_keys(n, 0xf000_0000, 3), 32);
    }
}

#[test]
fn keys_in_order_and_in_reverse_are_sorted() {
    for n in [257, 4097, 20_000u32] {
        check(&(0..n).collect::<Vec<_>>(), 16);
        check(&(0..n).rev().collect::<Vec<_>>(), 16);
        check(&(0..n).map(|i| u32::MAX - i).collect::<Vec<_>>(), 32);
    }
}

#[test]
fn more_tiles_than_the_scan_has_invocations_are_sorted() {
    check(&random_keys(300_000, u32::MAX, 4), 32);
    check(&random_keys(1_100_000, 0xffff, 5), 16);
}

#[test]
fn nothing_is_sorted_where_no_pass_is_needed() {
    let lists = lists(&[3, 2, 1], &[4, 5, 6]);
    let counts = upload(&[Counts { entry_count: 3, ..Counts::zeroed() }]);
    run(|pass| SORT.record_entries(pass, &counts, &dispatches(|_| {}), &lists));
    assert_eq!(sorted(&lists), (vec![3, 2, 1], vec![4, 5, 6]));
}

#[test]
fn histograms_are_counted_and_scanned_digit_by_digit() {
    let count = Kernel::new(gpu(), &sort::COUNT).unwrap();
    let scan = Kernel::new(gpu(), &sort::SCAN).unwrap();
    for n in SIZES.into_iter().chain([4096, 4097, 100_000]) {
        for shift in [0, 4, 28] {
            let keys = random_keys(n, u32::MAX, 6);
            let tiles = n.div_ceil(SORT_TILE);
            let sort_pass = uniform(SortPass { shift, of_pairs: 0 });
            let counts = upload(&[Counts { entry_count: n, ..Counts::zeroed() }]);
            let keys_in = upload(&keys);
            let histograms = poisoned::<u32>((RADIX * tiles) as usize);
            let buffers = || {
                [
                    ("sort_pass", sort_pass.all()),
                    ("counts", counts.all()),
                    ("keys_in", keys_in.all()),
                    ("histograms", histograms.all()),
                ]
            };
            run(|pass| count.dispatch(pass, tiles, &buffers()));
            let by_tile: Vec<_> = keys.chunks(SORT_TILE as usize).map(|tile| cpu::sort::count(tile, shift)).collect();
            let mut expected: Vec<u32> =
                (0..RADIX as usize).flat_map(|digit| by_tile.iter().map(move |counts| counts[digit])).collect();
            assert_eq!(written(&histograms), expected, "{n} keys, shift {shift}");

            run(|pass| scan.dispatch(pass, 1, &buffers()));
            let mut running = 0;
            for count in &mut expected {
                running += std::mem::replace(count, running);
            }
            assert_eq!(written(&histograms), expected, "{n} keys, shift {shift}");
            if tiles == 1 {
                let mut histogram = by_tile[0];
                cpu::sort::scan(&mut histogram);
                assert_eq!(expected, histogram);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn any_keys_are_sorted(
        n in 0..10_000u32,
        mask in any::<u32>(),
        seed: u64,
        key_bits in prop::sample::select(vec![8u32, 16, 24, 32]),
    ) {
        check(&random_keys(n, mask, seed), key_bits);
    }
}
