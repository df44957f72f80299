//! `order`: rows of pairs, counted, placed and sorted.

use std::collections::BTreeSet;
use std::mem::offset_of;
use std::sync::LazyLock;

use broadsweep::Pair;
use broadsweep::internals::constants::{ORDER_ROWS, ORDER_SHORT, ORDER_TILE, ORDER_WINDOW};
use broadsweep::internals::gpu::kernel::Kernel;
use broadsweep::internals::layout::{Counts, OrderParams, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::order::{self, OrderBuffers, OrderStage};
use proptest::prelude::*;

use crate::inputs::Random;
use crate::*;

pub static ORDER: LazyLock<OrderStage> = LazyLock::new(|| OrderStage::new(gpu()));

/// Creates distinct pairs in any order.
fn random_pairs(n: u32, box_count: u32, seed: u64) -> Vec<Pair> {
    let mut random = Random::new(seed);
    let pairs: BTreeSet<Pair> = (0..n)
        .map(|_| {
            let a = random.below(box_count - 1);
            Pair { a, b: a + 1 + random.below(box_count - 1 - a) }
        })
        .collect();
    shuffled(pairs, &mut random)
}

fn shuffled(pairs: impl IntoIterator<Item = Pair>, random: &mut Random) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = pairs.into_iter().collect();
    for i in (1..pairs.len()).rev() {
        pairs.swap(i, random.below(i as u32 + 1) as usize);
    }
    pairs
}

/// Creates buffers for rows, with guards, where nothing was counted yet.
pub fn rows_of(rows: u32, elements: usize) -> OrderBuffers {
    OrderBuffers {
        offsets: guarded(&vec![0; rows as usize + 1]),
        row_sums: poisoned(rows.div_ceil(ORDER_ROWS) as usize),
        tile_rows: poisoned(elements.div_ceil(ORDER_TILE as usize)),
        others: poisoned(elements),
    }
}

fn check(pairs: &[Pair], rows: u32, columns: u32) {
    let n = pairs.len() as u32;
    let counts = upload(&[Counts { written: n, entry_count: 1, ..Counts::zeroed() }]);
    let (list, buffers) = (guarded(pairs), rows_of(rows, pairs.len()));
    run(|pass| ORDER.record_pairs(pass, (rows, columns), &counts, &buffers, &list).unwrap());
    let mut expected = pairs.to_vec();
    mirror::order::canonical(&mut expected);
    assert!(written(&list) == expected, "{n} pairs of {rows} and {columns} boxes");
    let mut offsets = vec![0; rows as usize + 1];
    mirror::order::count(pairs, 1, &mut offsets);
    mirror::order::rows(&mut offsets);
    mirror::order::scatter(pairs, 1, &mut offsets, &mut vec![0; pairs.len()]);
    assert!(written(&buffers.offsets) == offsets, "{n} pairs of {rows} and {columns} boxes");
}

#[test]
fn pairs_come_out_in_canonical_order_whatever_the_number_of_boxes() {
    for n in SIZES.into_iter().chain([4096, 4097, 50_000]) {
        for box_count in [2, 255, 1023, 1024, 1025, 70_000, (1 << 20) + 1] {
            check(&random_pairs(n, box_count, u64::from(n)), box_count, box_count);
        }
    }
}

#[test]
fn the_index_of_the_last_box_takes_part_in_the_order() {
    for box_count in [256, 257, 65_536, 65_537] {
        let last = box_count - 1;
        let pairs = [Pair { a: 1, b: last }, Pair { a: 0, b: last }, Pair { a: 0, b: 1 }, Pair { a: 0, b: 2 }];
        check(&pairs, box_count, box_count);
    }
}

#[test]
fn rows_of_every_length_are_sorted_wherever_they_lie_in_their_tiles() {
    let lengths = [
        0,
        1,
        ORDER_SHORT - 1,
        ORDER_SHORT,
        ORDER_SHORT + 1,
        ORDER_TILE - 1,
        ORDER_TILE,
        ORDER_TILE + 1,
        2 * ORDER_TILE + 1,
        5000,
        40_000,
    ];
    let mut random = Random::new(2);
    for offset in [0, 1, ORDER_TILE - ORDER_SHORT, ORDER_TILE - 1] {
        // Boxes that are close together, that are spread over many windows, and of which few lie at either end.
        for columns in [40_000, 2 * ORDER_WINDOW, 50 * ORDER_WINDOW + 7] {
            let mut pairs: Vec<Pair> = (0..offset).map(|b| Pair { a: 0, b }).collect();
            for (a, &length) in (1..).zip(&lengths) {
                let step = columns / length.max(1);
                pairs.extend((0..length).map(|k| Pair { a, b: k * step + random.below(step) }));
                let (last, crowd) = (a + lengths.len() as u32, length.min(columns / 2));
                pairs.extend((0..crowd).map(|k| Pair { a: last, b: if k % 9 == 0 { k } else { columns - 1 - k } }));
            }
            check(&shuffled(pairs, &mut random), 2 * lengths.len() as u32 + 2, columns);
        }
    }
}

#[test]
fn as_many_long_rows_as_fit_a_tile_are_sorted() {
    // Two rows that begin or end outside, and three between; the first tile begins with one that has one element there.
    let mut lengths = vec![ORDER_TILE - 1 + 1];
    lengths.extend([ORDER_SHORT + 1; 40]);
    let rows = lengths.len() as u32;
    let columns = 300 * ORDER_WINDOW;
    let pairs = (0..)
        .zip(&lengths)
        .flat_map(|(a, &length)| (0..length).map(move |k| Pair { a, b: k * (columns / length) + a }));
    check(&shuffled(pairs, &mut Random::new(5)), rows, columns);
}

#[test]
#[ignore = "long"]
fn rows_of_millions_are_sorted() {
    // A row of all boxes, as a ground has, beside a row that begins with the last box.
    let columns = 3_000_000;
    let mut pairs: Vec<Pair> = (1..columns).map(|b| Pair { a: 0, b }).collect();
    pairs.extend((2..columns).step_by(1000).flat_map(|b| [Pair { a: 1, b }, Pair { a: b, b: columns - 1 }]));
    check(&shuffled(pairs, &mut Random::new(6)), columns, columns);
}

#[test]
fn every_kernel_writes_what_its_mirror_writes() {
    let kernels = order::KERNELS.map(|source| Kernel::new(gpu(), &source));
    for n in SIZES.into_iter().chain([3000]) {
        for (rows, ways) in [(2, 1), (300, 1), (300, 2), (5000, 2)] {
            let pairs = random_pairs(n, rows, 3);
            let elements = pairs.len() * ways as usize;
            let counts = upload(&[Counts { written: pairs.len() as u32, ..Counts::zeroed() }]);
            let order = uniform(OrderParams { row_count: rows, column_count: rows, ways, unused: 0 });
            for columns in [false, true] {
                let (list, buffers) = (upload(&pairs), rows_of(rows, elements));
                let in_order = poisoned::<u32>(2 * pairs.len());
                let own = [
                    ("order", order.all()),
                    ("counts", counts.all()),
                    ("pairs", list.all()),
                    ("in_order", in_order.all()),
                ];
                let all = [own.into(), buffers.bound()].concat();
                let dispatch = |kernel: &Kernel, groups: u32| {
                    let size = if columns { in_columns(groups) } else { dispatch_size(groups) };
                    let sizes = dispatches(|sizes| sizes.sweep_test = size);
                    let at = offset_of!(broadsweep::internals::layout::Dispatches, sweep_test);
                    run(|pass| kernel.dispatch_indirect(pass, sizes.raw(), at, &all));
                };
                let [count, sums, places, scatter, sort] = &kernels;
                let of_pairs = (pairs.len() as u32).div_ceil(4 * 256);
                let mut offsets = vec![0; rows as usize + 1];
                dispatch(count, of_pairs);
                mirror::order::count(&pairs, ways, &mut offsets);
                assert_eq!(written(&buffers.offsets), offsets);
                dispatch(sums, rows.div_ceil(ORDER_ROWS));
                assert_eq!(written(&buffers.row_sums), mirror::order::sums(&offsets));
                dispatch(places, rows.div_ceil(ORDER_ROWS));
                let tile_rows = mirror::order::rows(&mut offsets);
                assert_eq!((written(&buffers.offsets), written(&buffers.tile_rows)), (offsets.clone(), tile_rows));
                dispatch(scatter, of_pairs);
                let mut others = vec![0; elements];
                mirror::order::scatter(&pairs, ways, &mut offsets, &mut others);
                assert_eq!(written(&buffers.offsets), offsets);
                // In any order within a row.
                let mut scattered = written(&buffers.others);
                mirror::order::sort(&offsets, &mut scattered);
                mirror::order::sort(&offsets, &mut others);
                assert_eq!(scattered, others);
                dispatch(sort, (elements as u32).div_ceil(ORDER_TILE));
                let expected = if ways == 2 {
                    others
                } else {
                    let mut canonical = pairs.clone();
                    mirror::order::canonical(&mut canonical);
                    bytemuck::cast_slice(&canonical).to_vec()
                };
                assert_eq!(written(&in_order), expected, "{n} pairs, {rows} rows, {ways} ways");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn any_pairs_come_out_in_canonical_order(n in 0..6000u32, box_count in 2..1_000_000u32, seed: u64) {
        check(&random_pairs(n, box_count, seed), box_count, box_count);
    }
}
