//! `sort`: the whole of it and each of its kernels.

use std::sync::LazyLock;

use broadsweep::device::SortVariant;
use broadsweep::internals::constants::*;
use broadsweep::internals::gpu::kernel::{Kernel, Source};
use broadsweep::internals::gpu::sort_buffers::SortBuffers;
use broadsweep::internals::grid::sort::{self, Sort};
use broadsweep::internals::grid::sort_variant;
use broadsweep::internals::grid::{self};
use broadsweep::internals::layout::{Counts, SortPass};
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
        histograms: poisoned(sort::histogram_u32_count(n as u64) as usize),
        digit_sums: guarded(&vec![0; sort::digit_sum_u32_count(n as u64) as usize]),
        passes: 0,
        is_counted: false,
    }
}

/// Returns what is sorted, after a look at the guards of the scratch.
fn sorted(lists: &SortBuffers) -> (Vec<u32>, Vec<u32>) {
    written(&lists.other_keys);
    written(&lists.other_values);
    written(&lists.histograms);
    written(&lists.digit_sums);
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
    // Values with the old place of each key: an unstable sort cannot hide.
    let values: Vec<u32> = (0..n).collect();

    for sort in &*SORTS {
        let context = format!("{n} keys, {key_bits} bits, {:?}", sort.variant());
        // Any number of bits, also one that is no multiple of a digit's: the digit they end in counts whole.
        let expected = sorted_by(keys, &values, key_bits.next_multiple_of(sort.digit_bits()));
        // More workgroups than there are sections do nothing.
        for capacity in [n, 2 * n + 10_000] {
            // The number of the other kind is wrong on purpose.
            let counts = upload(&[Counts { entry_count: n, written: n / 2 + 7, ..Counts::zeroed() }]);
            let entries = poisoned_lists(keys.len());
            let (keys_in, values_in) = sort.start(&entries, key_bits);
            keys_in.write(gpu(), keys);
            values_in.write(gpu(), &values);
            run(|pass| sort.record_entries(pass, &counts, capacity, &entries, key_bits));
            assert_eq!(sorted(&entries), expected, "as entries: {context}");

            let counts = upload(&[Counts { entry_count: n / 2 + 7, written: n, ..Counts::zeroed() }]);
            let pairs = lists(keys, &values);
            let mut result = pairs.clone();
            run(|pass| result = sort.record_pairs(pass, &counts, capacity, pairs, key_bits));
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
        for key_bits in [8, 16, KEY_BITS, 32] {
            check(&random_keys(n, u32::MAX >> (32 - key_bits), u64::from(n)), key_bits);
        }
    }
}

#[test]
fn bits_above_the_key_do_not_count() {
    for key_bits in [8, 16, 24, KEY_BITS] {
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
fn more_sections_than_a_group_are_sorted() {
    check(&random_keys(SECTION_GROUP * SORT_TILE + 5, u32::MAX, 4), 16);
}

#[test]
#[ignore = "long"]
fn sections_of_several_tiles_are_sorted() {
    // The last of 234 sections has one tile of six, which is not full.
    check(&random_keys(1399 * SORT_TILE - 3, 0xffff, 5), 16);
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
fn pairs_are_sorted_by_no_more_bits_than_are_requested() {
    let (keys, values) = (random_keys(5000, u32::MAX, 7), (0..5000).collect::<Vec<_>>());
    let counts = upload(&[Counts { written: 5000, ..Counts::zeroed() }]);
    for sort in &*SORTS {
        for bits in [1, 4, 5, 9, 13, 20, 21, 32] {
            let pairs = lists(&keys, &values);
            let mut result = pairs.clone();
            run(|pass| result = sort.record_pairs(pass, &counts, 5000, pairs, bits));
            let expected = sorted_by(&keys, &values, bits.next_multiple_of(sort.digit_bits()));
            assert_eq!(sorted(&result), expected, "{bits} bits, {:?}", sort.variant());
        }
    }
}

#[test]
fn a_list_is_sorted_by_two_keys_between_two_clears() {
    let (keys, values) = (random_keys(5000, 0x3ff, 8), random_keys(5000, u32::MAX, 9));
    let counts = upload(&[Counts { written: 5000, ..Counts::zeroed() }]);
    let mut expected: Vec<_> = values.iter().zip(&keys).collect();
    expected.sort();
    for sort in &*SORTS {
        let pairs = lists(&keys, &values);
        let mut result = pairs.clone();
        run(|pass| {
            let by_key = sort.record_pairs(pass, &counts, 5000, pairs, 32);
            result = sort.record_pairs(pass, &counts, 5000, by_key.swapped(), 32);
        });
        let (values, keys) = sorted(&result);
        assert!(values.iter().zip(&keys).eq(expected.iter().copied()), "{:?}", sort.variant());
    }
}

#[test]
fn digits_are_counted_section_by_section_and_group_by_group() {
    let count = Kernel::new(gpu(), &sort::COUNT);
    // The last one has sections of five tiles.
    for n in SIZES.into_iter().chain([4096, 4097, 100_000, 4_194_305]) {
        for (shift, digit_bits) in [(0, 4), (4, 4), (28, 4), (0, 8), (24, 8), (0, 9), (23, 9)] {
            let keys = random_keys(n, u32::MAX, 6);
            let tiles = n.div_ceil(SORT_TILE);
            let length = SORT_TILE * tiles.div_ceil(SORT_SECTIONS);
            let radix = 1 << digit_bits;
            let sort_pass = uniform(SortPass { shift, of_pairs: 0, digit_bits, unused: 0 });
            let counts = upload(&[Counts { entry_count: n, ..Counts::zeroed() }]);
            let keys_in = guarded(&keys);
            let by_section: Vec<_> = keys
                .chunks(length.max(1) as usize)
                .map(|section| mirror::sort::count(section, shift, digit_bits))
                .collect();
            let sum = |group: &[Vec<u32>]| {
                (0..radix as usize).map(|digit| group.iter().map(|own| own[digit]).sum()).collect()
            };
            let by_group: Vec<Vec<u32>> = by_section.chunks(SECTION_GROUP as usize).map(sum).collect();
            let histograms = poisoned::<u32>(by_section.len() * radix as usize);
            let digit_sums = guarded(&vec![0; by_group.len() * radix as usize]);
            let buffers = [
                ("sort_pass", sort_pass.all()),
                ("counts", counts.all()),
                ("keys_in", keys_in.all()),
                ("histograms", histograms.all()),
                ("digit_sums", digit_sums.all()),
            ];
            // Enough workgroups, or too many.
            let groups = by_section.len() as u32 + if shift == 0 { 0 } else { 600 };
            run(|pass| count.dispatch(pass, groups, &buffers));
            assert_eq!(written(&histograms), by_section.concat(), "{n} keys, shift {shift}");
            assert_eq!(written(&digit_sums), by_group.concat(), "{n} keys, shift {shift}");
        }
    }
}

/// Creates `sort_ballot` with `from` replaced by `to`, under a name of its own: kernels are cached by name.
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
        key_bits in prop::sample::select(vec![8u32, 16, 24, KEY_BITS, 32]),
    ) {
        check(&random_keys(n, mask, seed), key_bits);
    }
}
