//! `order`: pairs taken apart, sorted twice, and put together.

use std::sync::LazyLock;

use broadsweep::Pair;
use broadsweep::internals::gpu::kernel::Kernel;
use broadsweep::internals::layout::{Counts, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::order::{self, Order};
use proptest::prelude::*;

use crate::inputs::Random;
use crate::sort::{SORT, lists};
use crate::*;

static ORDER: LazyLock<Order> = LazyLock::new(|| Order::new(gpu()));

fn random_pairs(n: u32, box_count: u32, seed: u64) -> Vec<Pair> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| {
            let a = random.below(box_count - 1);
            Pair { a, b: a + 1 + random.below(box_count - 1 - a) }
        })
        .collect()
}

fn check(pairs: &[Pair], box_count: u32) {
    let n = pairs.len() as u32;
    let counts = upload(&[Counts { written: n, entry_count: 1, ..Counts::zeroed() }]);
    let scratch = vec![u32::MAX; pairs.len()];
    let lists = lists(&scratch, &scratch);
    let list = guarded(pairs);
    run(|pass| ORDER.record(pass, &SORT, box_count, &counts, lists.clone(), &list));
    let mut expected = pairs.to_vec();
    expected.sort_unstable();
    assert_eq!(written(&list), expected, "{n} pairs of {box_count} boxes");
    for scratch in [lists.keys, lists.values, lists.other_keys, lists.other_values] {
        written(&scratch);
    }
    let (mut by_b, mut a) = mirror::order::split(pairs);
    let bits = u32::BITS - box_count.leading_zeros();
    mirror::sort::sort(&mut by_b, &mut a, bits);
    mirror::sort::sort(&mut a, &mut by_b, bits);
    let mut mirror = pairs.to_vec();
    mirror::order::join(&a, &by_b, &mut mirror);
    assert_eq!(mirror, expected);
}

#[test]
#[ignore = "long"]
fn pairs_come_out_in_canonical_order_whatever_the_number_of_boxes() {
    for n in SIZES.into_iter().chain([4096, 4097, 50_000]) {
        // Around the numbers of boxes that need another two passes.
        for box_count in [2, 255, 256, 257, 65_535, 65_536, 65_537, 1 << 24, (1 << 24) + 1] {
            check(&random_pairs(n, box_count, u64::from(n)), box_count);
        }
    }
}

#[test]
fn the_index_of_the_last_box_takes_part_in_the_order() {
    for box_count in [256, 257, 65_536, 65_537] {
        let last = box_count - 1;
        check(&[Pair { a: 1, b: last }, Pair { a: 0, b: last }, Pair { a: 0, b: 1 }, Pair { a: 0, b: 2 }], box_count);
    }
}

#[test]
fn pairs_are_split_and_joined_as_by_the_mirror() {
    let split = Kernel::new(gpu(), &order::SPLIT);
    let join = Kernel::new(gpu(), &order::JOIN);
    for n in SIZES {
        let pairs = random_pairs(n, 1000, 3);
        let expected = mirror::order::split(&pairs);
        let counts = upload(&[Counts { written: n, ..Counts::zeroed() }]);
        for size in [dispatch_size(n.div_ceil(256)), in_columns(n.div_ceil(256))] {
            let sizes = dispatches(|sizes| sizes.sweep_test = size);
            let offset = std::mem::offset_of!(broadsweep::internals::layout::Dispatches, sweep_test);
            let (list, keys, values) = (upload(&pairs), poisoned::<u32>(pairs.len()), poisoned::<u32>(pairs.len()));
            let buffers =
                [("counts", counts.all()), ("pairs", list.all()), ("keys", keys.all()), ("values", values.all())];
            run(|pass| split.dispatch_indirect(pass, sizes.raw(), offset, &buffers));
            assert_eq!((written(&keys), written(&values)), expected);

            let (keys, values, list) = (upload(&expected.0), upload(&expected.1), poisoned::<Pair>(pairs.len()));
            let buffers =
                [("counts", counts.all()), ("pairs", list.all()), ("keys", keys.all()), ("values", values.all())];
            run(|pass| join.dispatch_indirect(pass, sizes.raw(), offset, &buffers));
            let mut joined = vec![Pair { a: 0, b: 0 }; pairs.len()];
            mirror::order::join(&expected.0, &expected.1, &mut joined);
            assert_eq!(written(&list), joined);
        }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn any_pairs_come_out_in_canonical_order(n in 0..6000u32, box_count in 2..1_000_000u32, seed: u64) {
        check(&random_pairs(n, box_count, seed), box_count);
    }
}
