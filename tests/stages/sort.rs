//! `sort`: the whole of it and each of its kernels.

use std::mem::offset_of;
use std::sync::LazyLock;

use broadsweep::SortVariant;
use broadsweep::internals::constants::*;
use broadsweep::internals::gpu::kernel::{Kernel, Source};
use broadsweep::internals::grid::sort::{self, Sort, SortBuffers};
use broadsweep::internals::grid::sort_variant;
use broadsweep::internals::grid::{self};
use broadsweep::internals::layout::{Counts, Dispatches, SortPass, dispatch_size};
use broadsweep::internals::mirror;
use proptest::prelude::*;

use crate::inputs::Random;
use crate::*;

pub static SORT: LazyLock<Sort> = LazyLock::new(|| Sort::with_variant(gpu(), sort_variant(gpu()).unwrap()).unwrap());

/// Every variant that this device can run.
pub static SORTS: LazyLock<Vec<Sort>> = LazyLock::new(|| {
    let can_run = |variant: &SortVariant| *variant != SortVariant::Subgroup || gpu().has_subgroups();
    let with = |variant| Sort::with_variant(gpu(), variant).unwrap();
    SortVariant::ALL.into_iter().filter(can_run).map(with).collect()
});

/// Buffers with something to sort in them.
pub fn lists(keys: &[u32], values: &[u32]) -> SortBuffers {
    SortBuffers { keys: guarded(keys), values: guarded(values), ..poisoned_lists(keys.len()) }
}

fn poisoned_lists(n: usize) -> SortBuffers {
    SortBuffers {
        keys: poisoned(n),
        values: poisoned(n),
        other_keys: poisoned(n),
        other_values: poisoned(n),
        histograms: poisoned(sort::histogram_words(n as u64) as usize),
    }
}

/// Returns what is sorted, after a look at the guards of the scratch.
fn sorted(lists: &SortBuffers) -> (Vec<u32>, Vec<u32>) {
    written(&lists.other_keys);
    written(&lists.other_values);
    written(&lists.histograms);
    (written(&lists.keys), written(&lists.values))
}

/// Returns keys and values in the order of the keys' low `bits`, those of equal ones as they were.
fn sorted_by(keys: &[u32], values: &[u32], bits: u32) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&i| keys[i] & u32::MAX >> (32 - bits.min(32)));
    let sorted = (order.iter().map(|&i| keys[i]).collect(), order.iter().map(|&i| values[i]).collect());
    if bits.is_multiple_of(RADIX_BITS) {
        let mut mirrored = (keys.to_vec(), values.to_vec());
        mirror::sort::sort(&mut mirrored.0, &mut mirrored.1, bits.min(32));
        assert_eq!(mirrored, sorted, "the mirror, {bits} bits");
    }
    sorted
}

/// Sorts as entries and as pairs, in every variant.
fn check(keys: &[u32], key_bits: u32) {
    let n = keys.len() as u32;
    // Values that say where each key was: an unstable sort cannot hide.
    let values: Vec<u32> = (0..n).collect();

    for sort in &*SORTS {
        let step_bits = sort.digit_bits().max(STEP_BITS);
        let steps = key_bits.div_ceil(step_bits);
        let context = format!("{n} keys, {key_bits} bits, {:?}", sort.variant());
        let expected = sorted_by(keys, &values, steps * step_bits);
        // More workgroups than there are tiles do nothing.
        for capacity in [n, 2 * n + 10_000] {
            // The number of the other kind is wrong on purpose.
            let key_bits = steps * step_bits;
            let counts = upload(&[Counts { entry_count: n, written: n / 2 + 7, key_bits, ..Counts::zeroed() }]);
            let entries = poisoned_lists(keys.len());
            let (keys_in, values_in) = sort.starts(&entries)[steps as usize % 2];
            keys_in.write(gpu(), keys);
            values_in.write(gpu(), &values);
            run(|pass| sort.record_entries(pass, &counts, capacity, &entries));
            assert_eq!(sorted(&entries), expected, "as entries: {context}");
        }
        // Any number of bits, also one that is no multiple of a digit's: the digit they end in counts whole.
        let counts = upload(&[Counts { entry_count: n / 2 + 7, written: n, ..Counts::zeroed() }]);
        for capacity in [n, 2 * n + 10_000] {
            let pairs = lists(keys, &values);
            let mut result = pairs.clone();
            run(|pass| result = sort.record_pairs(pass, &counts, capacity, &pairs, key_bits));
            let expected = sorted_by(keys, &values, key_bits.next_multiple_of(sort.digit_bits()));
            assert_eq!(sorted(&result), expected, "as pairs: {context}");
        }
    }
}

fn random_keys(n: u32, mask: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.next() as u32 & mask).collect()
}

#[test]
fn random_keys_are_sorted_at_every_size_and_width() {
    for n in SIZES.into_iter().chain([4095, 4096, 4097, 8192, 12_345]) {
        for key_bits in [8, 16, 24, THREE_PASS_BITS, 32] {
            check(&random_keys(n, u32::MAX >> (32 - key_bits), u64::from(n)), key_bits);
        }
    }
}

#[test]
fn bits_above_the_key_do_not_count() {
    for key_bits in [8, 16, 24, THREE_PASS_BITS] {
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
#[ignore = "long"]
fn more_tiles_than_a_piece_of_the_scan_are_sorted() {
    check(&random_keys(300_000, u32::MAX, 4), 32);
    // 513 tiles, one more than a piece.
    check(&random_keys(2_097_153, 0xffff, 5), 16);
}

#[test]
#[ignore = "long"]
fn keys_of_ones_are_sorted_beside_what_is_behind_the_end() {
    // `sort_ballot` takes what is behind the end for such keys.
    for n in [1, 31, 33, 1000, 4095, 4097, 5000u32] {
        check(&(0..n).map(|i| if i % 5 == 0 { u32::MAX } else { u32::MAX - i % 3 }).collect::<Vec<_>>(), 32);
        check(&(0..n).map(|i| if i + 7 > n { i } else { u32::MAX }).collect::<Vec<_>>(), 32);
    }
}

#[test]
#[ignore = "long"]
fn two_digits_in_turn_and_keys_of_high_bits_only_are_sorted() {
    for n in [1234, 4096, 8193u32] {
        for low in [0x0000_0000, 0xffff_ff00] {
            // Neighbours of one word of packed counts, and digits of different words.
            check(&(0..n).map(|i| low | [6, 7][i as usize % 2]).collect::<Vec<_>>(), 32);
            check(&(0..n).map(|i| low | [255, 0][i as usize % 2]).collect::<Vec<_>>(), 32);
        }
        check(&vec![u32::MAX; n as usize], 32);
        check(&(0..n).map(|i| (n - i) << 24 | 0x00ab_cdef).collect::<Vec<_>>(), 32);
        check(&(0..n).map(|i| if i % 3 == 0 { u32::MAX } else { 0 }).collect::<Vec<_>>(), 32);
    }
}

#[test]
fn nothing_is_sorted_where_no_pass_is_needed() {
    for sort in &*SORTS {
        let lists = lists(&[3, 2, 1], &[4, 5, 6]);
        let counts = upload(&[Counts { entry_count: 3, ..Counts::zeroed() }]);
        run(|pass| sort.record_entries(pass, &counts, 3, &lists));
        assert_eq!(sorted(&lists), (vec![3, 2, 1], vec![4, 5, 6]));
    }
}

#[test]
fn pairs_are_sorted_by_no_more_bits_than_are_asked_for() {
    let (keys, values) = (random_keys(5000, u32::MAX, 7), (0..5000).collect::<Vec<_>>());
    let counts = upload(&[Counts { written: 5000, ..Counts::zeroed() }]);
    for sort in &*SORTS {
        for bits in [1, 4, 5, 9, 13, 20, 21, 32] {
            let pairs = lists(&keys, &values);
            let mut result = pairs.clone();
            run(|pass| result = sort.record_pairs(pass, &counts, 5000, &pairs, bits));
            let expected = sorted_by(&keys, &values, bits.next_multiple_of(sort.digit_bits()));
            assert_eq!(sorted(&result), expected, "{bits} bits, {:?}", sort.variant());
        }
    }
}

#[test]
fn histograms_are_counted_and_scanned_tile_by_tile() {
    let (count, scan) = (Kernel::new(gpu(), &sort::COUNT), Kernel::new(gpu(), &sort::SCAN));
    // The last one has a tile more than two pieces of the scan, which take turns in workgroup memory.
    for n in SIZES.into_iter().chain([4096, 4097, 100_000, 4_194_305]) {
        for (shift, digit_bits) in [(0, 4), (4, 4), (28, 4), (0, 8), (24, 8), (0, 9), (23, 9)] {
            let keys = random_keys(n, u32::MAX, 6);
            let tiles = n.div_ceil(SORT_TILE);
            // Of entries: laid out for keys of four steps.
            let sort_pass =
                uniform(SortPass { shift: shift + 4 * digit_bits.max(8) - 28, of_pairs: 0, digit_bits, unused: 0 });
            let counts = upload(&[Counts { entry_count: n, key_bits: 28, ..Counts::zeroed() }]);
            let keys_in = guarded(&keys);
            let radix = 1 << digit_bits;
            let histograms = poisoned::<u32>((tiles * radix + radix) as usize);
            let buffers = || {
                [
                    ("sort_pass", sort_pass.all()),
                    ("counts", counts.all()),
                    ("keys_in", keys_in.all()),
                    ("histograms", histograms.all()),
                ]
            };
            let size = if shift == 0 { dispatch_size(tiles) } else { in_columns(tiles) };
            let sizes = dispatches(|sizes| sizes.entries = size);
            run(|pass| count.dispatch_indirect(pass, sizes.raw(), offset_of!(Dispatches, entries), &buffers()));
            let by_tile = counts_by_tile(&keys, shift, digit_bits);
            let of_digit = |digit: usize| by_tile.iter().map(move |counts| counts[digit]);
            let expected = by_tile.concat();
            let (counted, behind) = split(&histograms, radix);
            assert_eq!(counted, expected, "{n} keys, shift {shift}");
            assert_eq!(behind, vec![u32::MAX; radix as usize], "{n} keys, shift {shift}");
            if digit_bits == RADIX_BITS {
                let mirrored = keys.chunks(SORT_TILE as usize).map(|tile| mirror::sort::count(tile, shift).to_vec());
                assert_eq!(by_tile, mirrored.collect::<Vec<_>>());
            }

            // Enough workgroups, or too many, of which some have no digit.
            let most_tiles = if shift == 0 { tiles } else { tiles + 600 };
            run(|pass| scan.dispatch(pass, sort::scan_groups(most_tiles, digit_bits), &buffers()));
            let mut running = vec![0; radix as usize];
            let scanned = by_tile.iter().flat_map(|counts| {
                let before = running.clone();
                running.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                before
            });
            let totals: Vec<u32> = (0..radix as usize).map(|digit| of_digit(digit).sum()).collect();
            let (found, behind) = split(&histograms, radix);
            assert_eq!(found, scanned.collect::<Vec<u32>>(), "{n} keys, shift {shift}");
            if tiles > 0 {
                assert_eq!(behind, totals, "{n} keys, shift {shift}");
            }
            if digit_bits == RADIX_BITS {
                let mut histogram = mirror::sort::count(&keys, shift);
                assert_eq!(totals, histogram);
                mirror::sort::scan(&mut histogram);
                let places = totals.iter().scan(0, |running, count| Some(std::mem::replace(running, *running + count)));
                assert_eq!(places.collect::<Vec<_>>(), histogram);
            }
        }
    }
}

/// Counts how often each digit occurs in each tile.
fn counts_by_tile(keys: &[u32], shift: u32, digit_bits: u32) -> Vec<Vec<u32>> {
    let count = |tile: &[u32]| {
        let mut counts = vec![0; 1 << digit_bits];
        tile.iter().for_each(|key| counts[(key >> shift) as usize % (1 << digit_bits)] += 1);
        counts
    };
    keys.chunks(SORT_TILE as usize).map(count).collect()
}

/// Returns the rows of histograms, and the last `radix` words behind them.
fn split(histograms: &Buffer<u32>, radix: u32) -> (Vec<u32>, Vec<u32>) {
    let mut words = written(histograms);
    let behind = words.split_off(words.len() - radix as usize);
    (words, behind)
}

#[test]
fn a_pass_that_is_left_out_is_not_scanned() {
    let histograms = poisoned::<u32>(3 << 9);
    // The second of four steps.
    let cases = [1, 2, 3, 4].map(|steps| (steps, steps < 3));
    let scan = Kernel::new(gpu(), &sort::SCAN);
    for ((steps, is_left_out), digit_bits) in
        cases.into_iter().flat_map(|case| [STEP_BITS, BALLOT_BITS].map(|bits| (case, bits)))
    {
        let key_bits = steps * digit_bits;
        let sort_pass = uniform(SortPass { shift: digit_bits, of_pairs: 0, digit_bits, unused: 0 });
        let counts = upload(&[Counts { entry_count: 8000, key_bits, ..Counts::zeroed() }]);
        histograms.write(gpu(), &[1; 3 << 9]);
        let buffers = [("sort_pass", sort_pass.all()), ("counts", counts.all()), ("histograms", histograms.all())];
        run(|pass| scan.dispatch(pass, sort::scan_groups(2, digit_bits), &buffers));
        assert_eq!(written(&histograms) == [1; 3 << 9], is_left_out, "{key_bits} bits");
    }
}

/// Makes `sort_ballot` with `from` replaced by `to`, under a name of its own: kernels are kept by name.
fn mutant(label: &'static str, from: &str, to: &str) -> Source {
    let own = sort::BALLOT.own.replace("fn sort_ballot(", &format!("fn {label}("));
    assert!(own.contains(from));
    Source { label, own: Box::leak(own.replace(from, to).into_boxed_str()), ..sort::BALLOT }
}

#[test]
fn a_device_sorts_by_subgroups_if_they_work() {
    let expected = if gpu().has_subgroups() { SortVariant::Subgroup } else { SortVariant::Portable };
    let _turn = turn();
    assert_eq!(grid::choose(gpu(), &sort::BALLOT).unwrap(), expected);
}

#[test]
#[ignore = "long"]
fn a_subgroup_kernel_that_fails_its_trial_or_is_rejected_is_not_used() {
    let wrongs = [
        // Equal digits change places; rounds go missing; digits are taken for equal; not WGSL at all.
        mutant(
            "sort_ballot_unstable",
            "number_of(with_digit & lane.below)",
            "number_of(with_digit & ~lane.below) - 1u",
        ),
        mutant("sort_ballot_early", "let w = rank_of(digits.w, lane)", "let w = z"),
        mutant("sort_ballot_blind", "with_bit(digit, 128u)", "lane.active_lanes"),
        mutant("sort_ballot_rejected", "subgroupShuffle(before, lowest);", "subgroup?"),
    ];
    let blind_to_highest = mutant("sort_ballot_half_blind", "with_bit(digit, 256u)", "lane.active_lanes");
    let has_large_digits = gpu().adapter_info().subgroup_min_size >= BALLOT_LANES;
    for wrong in wrongs.iter().chain(has_large_digits.then_some(&blind_to_highest)) {
        let _turn = turn();
        let chosen = grid::choose(gpu(), wrong).unwrap();
        assert_eq!(chosen, SortVariant::Portable, "{}", wrong.label);
    }
}

#[test]
fn kernels_other_than_the_one_for_subgroups_need_no_features() {
    use broadsweep::wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
    for source in broadsweep::internals::kernels::sources() {
        let module = source.module().unwrap();
        let valid = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module).is_ok();
        assert_eq!(valid, source.label != "sort_ballot", "{}", source.label);
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn any_keys_are_sorted(
        n in 0..10_000u32,
        mask in any::<u32>(),
        seed: u64,
        key_bits in prop::sample::select(vec![8u32, 16, 24, THREE_PASS_BITS, 32]),
    ) {
        check(&random_keys(n, mask, seed), key_bits);
    }
}
