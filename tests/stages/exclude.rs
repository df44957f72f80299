//! `exclude`: pairs to exclude, by box.

use std::sync::LazyLock;

use broadsweep::internals::filters::device::FilterSet;
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::exclude::Exclude;
use broadsweep::{Filters, Pair};

use crate::inputs::Random;
use crate::sort::SORTS;
use crate::*;

static EXCLUDE: LazyLock<Exclude> = LazyLock::new(|| Exclude::new(gpu()));

/// Creates pairs of boxes, and what is none.
fn pairs(count: u32, box_count: u32, random: &mut Random) -> Vec<Pair> {
    let mut any = |i: u32| match i % 7 {
        0 => box_count / 2,
        1 => random.below(box_count + 2),
        2 if i.is_multiple_of(5) => u32::MAX,
        _ => random.below(box_count),
    };
    (0..count).map(|i| Pair { a: any(i), b: any(i + 1) }).collect()
}

/// Lists pairs by box out of a buffer that holds more, and checks them against the mirror.
fn check(given: &[Pair], more: u32, include: Vec<Pair>, box_count: u32, stored: Option<u32>) {
    let capacity = given.len() as u32 + more;
    let filters = Filters::default().with_exclude_at_most(capacity + 9).with_include(include);
    for sort in SORTS.iter() {
        let mut filters = FilterSet::new(gpu(), filters.clone()).unwrap();
        filters.fit(box_count as usize).unwrap();
        let change = filters.begin_exclude(gpu(), box_count, capacity, stored.is_some()).unwrap();
        let words = filters.lists.words.len() as usize;
        filters.lists.words.write(gpu(), &vec![POISON; words]);
        let mut all = given.to_vec();
        // Pairs behind the count are not read.
        all.resize(capacity as usize + 3, Pair { a: 0, b: 1 });
        let (buffer, count) = (upload(&all), upload(&[stored.unwrap_or(9), 5]));
        run(|pass| {
            let count = stored.is_some().then(|| count.all());
            EXCLUDE.record(pass, sort, &filters, change, Some(buffer.all()), count).unwrap();
        });
        let is_beyond = stored.is_some_and(|stored| stored > capacity);
        let taken = match stored {
            _ if is_beyond => 0,
            Some(stored) => stored as usize,
            None => capacity as usize,
        };
        let included = filters.checked().include();
        let (b, a) = mirror::exclude::split(&all[..taken], included, box_count);
        let mut sorted: Vec<(u32, u32)> = a.into_iter().zip(b).collect();
        sorted.sort_unstable();
        let (a, b): (Vec<u32>, Vec<u32>) = sorted.into_iter().unzip();
        let what = format!("{taken} of {} and {} among {box_count}", given.len(), included.len());
        let found = download(&filters.lists.words);
        let rows = mirror::exclude::rows(&a, box_count);
        assert!(found[change.rows as usize..][..rows.len()] == rows, "rows of {what}");
        assert!(found[change.others as usize..][..b.len()] == b, "others of {what}");
        let behind = &found[change.others as usize + b.len()..];
        assert!(behind.iter().all(|word| *word == POISON), "behind {what}");
        let refused = filters.refused().map(|refused| download(refused)[0]);
        assert_eq!(refused, Some(u32::from(is_beyond)), "{what}");
    }
}

const POISON: u32 = 0xdead_beef;

#[test]
fn pairs_by_box_are_those_of_the_mirror() {
    let mut random = Random::new(53);
    for n in SIZES.into_iter().chain([5000]) {
        for box_count in [2, 255, 257, 3000] {
            let given = pairs(n, box_count, &mut random);
            let include = match n % 3 {
                0 => Vec::new(),
                _ => (1..box_count.min(300)).map(|b| Pair { a: b / 2, b }).collect(),
            };
            check(&given, 0, include.clone(), box_count, None);
            check(&given, 20, include, box_count, Some(n));
        }
    }
}

#[test]
fn of_more_pairs_than_the_capacity_none_is_consumed() {
    let given = pairs(300, 100, &mut Random::new(3));
    for (more, stored) in [(0, 300), (0, 301), (5, 306), (5, u32::MAX), (5, 0)] {
        check(&given, more, vec![Pair { a: 3, b: 9 }], 100, Some(stored));
    }
}
