//! `neighbours`: pairs by box.

use std::sync::LazyLock;

use broadsweep::internals::layout::PairHeader;
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::list::{ListCapacity, PairList};
use broadsweep::internals::pairs::neighbours::{NeighbourBuffers, NeighbourCapacity, NeighbourLists, Neighbours};
use broadsweep::{Pair, PairOrder};

use crate::inputs::Random;
use crate::order::{ORDER, rows_of};
use crate::*;

static NEIGHBOURS: LazyLock<Neighbours> = LazyLock::new(|| Neighbours::new(gpu()));

/// Creates pairs in canonical order, some boxes of which have many and most have none.
fn pairs(count: u32, box_count: u32, random: &mut Random) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = (0..count)
        .map(|i| {
            let a = if i % 3 == 0 { box_count / 2 } else { random.below(box_count - 1) };
            let a = a.min(box_count - 2);
            Pair { a, b: a + 1 + random.below(box_count - 1 - a) }
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Lists neighbours, and returns offsets, neighbours and header.
fn listed(pairs: &[Pair], box_count: u32, header: PairHeader) -> (Vec<u32>, Vec<u32>, PairHeader) {
    let capacity = pairs.len() as u32 + 5;
    let sizes = ListCapacity { boxes: box_count.into(), pairs: capacity.into() };
    let list = PairList::new(gpu(), &sizes, PairOrder::Canonical).unwrap();
    list.list.pairs.write(gpu(), pairs);
    list.list.header.write(gpu(), &[PairHeader { capacity, ..header }]);
    let sizes = NeighbourCapacity { boxes: box_count.into(), pairs: capacity.into() };
    let buffers = NeighbourBuffers {
        lists: NeighbourLists { neighbours: poisoned(2 * pairs.len()), ..NeighbourLists::new(gpu(), &sizes).unwrap() },
        rows: rows_of(box_count, 2 * pairs.len()),
    };
    run(|pass| NEIGHBOURS.record(pass, box_count, &list, &ORDER, &buffers).unwrap());
    written(&buffers.rows.others);
    (written(&buffers.rows.offsets), written(&buffers.lists.neighbours), download(&buffers.lists.header)[0])
}

#[test]
fn neighbours_are_those_of_the_mirror_in_its_order() {
    let mut random = Random::new(11);
    for n in SIZES.into_iter().chain([5000]) {
        for box_count in [2, 3, 255, 256, 257, 3000] {
            let pairs = pairs(n, box_count, &mut random);
            let count = pairs.len() as u32;
            let header = PairHeader { count, written: count, ..PairHeader::zeroed() };
            let (offsets, neighbours, header) = listed(&pairs, box_count, header);
            let expected = mirror::neighbours::neighbours(&pairs, box_count);
            assert_eq!((offsets, neighbours), expected, "{count} of {box_count}");
            assert_eq!((header.count, header.written, header.overflow), (2 * count, 2 * count, 0));
            assert_eq!((header.count_high, header.capacity), (0, 2 * (count + 5)));
        }
    }
}

#[test]
fn of_a_list_that_is_not_whole_no_box_has_any() {
    let pairs = pairs(300, 100, &mut Random::new(1));
    let count = pairs.len() as u32;
    for (header, overflow) in [
        (PairHeader { count: count + 1, written: count, overflow: 1, ..PairHeader::zeroed() }, 1),
        (PairHeader { count: 0, written: 0, overflow: 2, ..PairHeader::zeroed() }, 2),
        // The last window of a list, which is not beyond its end.
        (PairHeader { count: 2 * count, written: count, ..PairHeader::zeroed() }, 1),
        (PairHeader { count, count_high: 1, written: count, ..PairHeader::zeroed() }, 1),
    ] {
        let (offsets, neighbours, header) = listed(&pairs, 100, header);
        assert_eq!((header.count, header.written, header.overflow), (0, 0, overflow));
        assert!(offsets.iter().all(|offset| *offset == 0) && neighbours.iter().all(is_poison));
    }
}
