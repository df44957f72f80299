//! Lists of pairs, compared.

use std::collections::HashSet;

use broadsweep::Aabb;

/// How a list of pairs differs from the exact one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Exact pairs that are not in the list.
    pub missing: u64,
    /// Different pairs of the list that are not exact ones.
    pub extra: u64,
    /// Entries of the list beyond the first of each pair.
    pub doubled: u64,
}

impl Difference {
    /// Compares a list with the exact pairs, which are ascending, each as `[a, b]` with `a < b`. The list, and the
    /// boxes of each of its pairs, may be in any order.
    pub fn of(exact: &[[u32; 2]], list: &[[u32; 2]]) -> Self {
        let mut sorted: Vec<[u32; 2]> = list.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let common = sorted.iter().filter(|pair| exact.binary_search(pair).is_ok()).count();
        Self {
            missing: (exact.len() - common) as u64,
            extra: (sorted.len() - common) as u64,
            doubled: (list.len() - sorted.len()) as u64,
        }
    }
}

/// Returns the largest distance along an axis between the boxes of a pair; zero if all of them overlap.
pub fn largest_gap(boxes: &[Aabb], list: &[[u32; 2]]) -> f32 {
    let gap = |&[a, b]: &[u32; 2]| {
        let (a, b) = (boxes[a as usize], boxes[b as usize]);
        (0..3).map(|axis| (b.min[axis] - a.max[axis]).max(a.min[axis] - b.max[axis])).fold(0.0, f32::max)
    };
    list.iter().map(gap).fold(0.0, f32::max)
}

/// Returns the count of distinct lists. Lists with the same pairs in another order are distinct.
pub fn orders(lists: &[Vec<[u32; 2]>]) -> u64 {
    lists.iter().collect::<HashSet<_>>().len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: [[u32; 2]; 3] = [[0, 1], [0, 2], [3, 4]];

    #[test]
    fn the_same_pairs_in_any_order_are_no_difference() {
        assert_eq!(Difference::of(&EXACT, &[[4, 3], [0, 1], [2, 0]]), Difference::default());
        assert_eq!(Difference::of(&[], &[]), Difference::default());
    }

    #[test]
    fn a_pair_that_is_not_listed_is_missing() {
        let difference = Difference::of(&EXACT, &[[0, 1], [3, 4]]);
        assert_eq!(difference, Difference { missing: 1, ..Default::default() });
        assert_eq!(Difference::of(&EXACT, &[]).missing, 3);
    }

    #[test]
    fn a_pair_that_is_not_exact_is_extra_once() {
        let difference = Difference::of(&EXACT, &[[0, 1], [0, 2], [3, 4], [1, 2], [2, 1]]);
        assert_eq!(difference, Difference { extra: 1, doubled: 1, ..Default::default() });
    }

    #[test]
    fn each_entry_after_the_first_of_a_pair_is_doubled() {
        let difference = Difference::of(&EXACT, &[[0, 1], [1, 0], [0, 1], [0, 2]]);
        assert_eq!(difference, Difference { missing: 1, doubled: 2, ..Default::default() });
    }

    #[test]
    fn the_largest_gap_is_that_of_the_boxes_furthest_apart() {
        let boxes = [0.0, 0.5, 3.0].map(|x| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]));
        assert_eq!(largest_gap(&boxes, &[[0, 1]]), 0.0);
        assert_eq!(largest_gap(&boxes, &[[0, 1], [2, 0], [1, 2]]), 2.0);
    }

    #[test]
    fn lists_with_the_same_pairs_in_another_order_are_two_orders() {
        let [first, second] = [vec![[0, 1], [0, 2]], vec![[0, 2], [0, 1]]];
        assert_eq!(orders(&[first.clone(), first.clone()]), 1);
        assert_eq!(orders(&[first.clone(), second, first]), 2);
    }
}
