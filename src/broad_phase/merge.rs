//! Merges ascending runs of pairs into one ascending list.

use crate::Pair;

/// Sorts pairs that consist of ascending runs, by merging adjacent runs. The merge needs scratch memory for half of the
/// pairs. If this memory cannot be allocated, or if the runs are short, the pairs are sorted in place instead, which
/// takes longer.
pub(crate) fn merge_runs(pairs: &mut [Pair]) {
    let mut ends: Vec<usize> = (1..pairs.len()).filter(|&i| key(pairs[i]) < key(pairs[i - 1])).take(1 << 16).collect();
    if ends.is_empty() {
        return;
    }
    ends.push(pairs.len());
    let mut scratch = Vec::new();
    if ends.len() > 1 << 16 || scratch.try_reserve_exact(pairs.len() / 2).is_err() {
        pairs.sort_unstable();
        return;
    }
    while ends.len() > 1 {
        let mut start = 0;
        for two in ends.chunks(2) {
            if let [middle, end] = *two {
                merge(&mut pairs[start..end], middle - start, &mut scratch);
                start = end;
            }
        }
        ends = ends.chunks(2).filter_map(<[usize]>::last).copied().collect();
    }
}

/// Merges two ascending runs. The second run begins at `middle`. The shorter run is copied to `scratch`.
fn merge(pairs: &mut [Pair], middle: usize, scratch: &mut Vec<Pair>) {
    scratch.clear();
    let end = pairs.len();
    if middle <= end - middle {
        scratch.extend_from_slice(&pairs[..middle]);
        let (mut i, mut j, mut to) = (0, middle, 0);
        while i < middle && j < end {
            let (left, right) = (scratch[i], pairs[j]);
            let is_right = key(right) < key(left);
            pairs[to] = if is_right { right } else { left };
            i += usize::from(!is_right);
            j += usize::from(is_right);
            to += 1;
        }
        pairs[to..to + middle - i].copy_from_slice(&scratch[i..]);
    } else {
        // Merge from the last pair to the first.
        scratch.extend_from_slice(&pairs[middle..]);
        let (mut i, mut j, mut to) = (middle, scratch.len(), end);
        while i > 0 && j > 0 {
            let (left, right) = (pairs[i - 1], scratch[j - 1]);
            let is_left = key(right) < key(left);
            to -= 1;
            pairs[to] = if is_left { left } else { right };
            i -= usize::from(is_left);
            j -= usize::from(!is_left);
        }
        pairs[to - j..to].copy_from_slice(&scratch[..j]);
    }
}

fn key(pair: Pair) -> u64 {
    u64::from(pair.a) << 32 | u64::from(pair.b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_any_number_and_length_become_one() {
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        for lengths in [&[][..], &[0], &[1], &[5], &[1, 1], &[7, 3], &[3, 7], &[4, 4, 4], &[9, 1, 1, 30, 2], &[50; 17]]
        {
            let mut pairs = Vec::new();
            for &length in lengths {
                let mut run: Vec<Pair> = (0..length).map(|_| Pair { a: random() % 8, b: random() % 20 }).collect();
                run.sort_unstable();
                pairs.extend(run);
            }
            let mut expected = pairs.clone();
            expected.sort_unstable();
            merge_runs(&mut pairs);
            assert_eq!(pairs, expected, "{lengths:?}");
        }
    }

    #[test]
    fn a_list_without_runs_is_sorted_too() {
        let mut pairs: Vec<Pair> = (0..70_000).rev().map(|a| Pair { a, b: a + 1 }).collect();
        merge_runs(&mut pairs);
        assert!(pairs.is_sorted());
    }
}
