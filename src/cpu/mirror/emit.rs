//! Mirror of `emit`: pairs from hit bits.

use super::giants::Joined;
use crate::Pair;

/// Returns the first block that has pairs in the window, and the workgroup counts of `emit_sweep` and `emit_again` for
/// the window. The blocks of giants come first. `emit_again` processes the blocks before `again_end`.
pub fn range(block_hits: &[u32], giant_blocks: u32, again_end: u32, first: u64, capacity: u32) -> [u32; 3] {
    let mut end = 0;
    let ends = block_hits.iter().map(|&hits| {
        end += u64::from(hits);
        end
    });
    let ends: Vec<u64> = ends.collect();
    let count = ends.len() as u32;
    let first_block = ends.partition_point(|&end| end <= first) as u32;
    let last_pair = first.saturating_add(u64::from(capacity.max(1) - 1));
    let end = (ends.partition_point(|&end| end <= last_pair) as u32 + 1).min(count);
    let sweep_blocks = end.max(giant_blocks) - first_block.max(giant_blocks);
    [first_block, sweep_blocks.max(1), end.min(again_end).saturating_sub(first_block)]
}

/// Returns the count of set bits: the pairs in these words.
pub fn count(words: &[u32]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Appends the pairs of a giant from its bits of `giants::test`.
pub fn giants(words: &[u32], giant: u32, pairs: &mut Vec<Pair>) {
    for (k, &word) in words.iter().enumerate() {
        let mut remaining = word;
        while remaining != 0 {
            pairs.push(Pair::new(giant, 32 * k as u32 + remaining.trailing_zeros()));
            remaining &= remaining - 1;
        }
    }
}

/// Concatenates the pairs of all groups of giants and rows.
pub fn joined(all: &[Joined]) -> Vec<Pair> {
    all.iter().flat_map(|joined| &joined.pairs).copied().collect()
}
