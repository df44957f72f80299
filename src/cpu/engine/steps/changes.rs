//! What changed in the list of pairs since the last step, where that is known without a look at the list.

use crate::Pair;

/// The pairs of this step that the last one did not have, and those of the last one that this one does not have.
#[derive(Debug, Default)]
pub struct Changes {
    pub created: Vec<Pair>,
    pub lost: Vec<Pair>,
}

impl Changes {
    /// Forgets all changes.
    pub fn clear(&mut self) {
        self.created.clear();
        self.lost.clear();
    }

    /// Puts both lists in order, without the pairs in both: those that are kept by boxes that left, and no longer by the epoch.
    pub fn settle(&mut self) {
        let Self { created, lost } = self;
        created.sort_unstable();
        lost.sort_unstable();
        let (mut i, mut j) = (0, 0);
        let (mut kept_created, mut kept_lost) = (0, 0);
        while let (Some(&new), Some(&old)) = (created.get(i), lost.get(j)) {
            if new < old {
                created[kept_created] = new;
                kept_created += 1;
            }
            if old < new {
                lost[kept_lost] = old;
                kept_lost += 1;
            }
            i += usize::from(new <= old);
            j += usize::from(old <= new);
        }
        created.drain(kept_created..i);
        lost.drain(kept_lost..j);
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        (self.created.capacity() + self.lost.capacity()) * size_of::<Pair>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_both_lists_did_not_change() {
        let pairs = |numbers: &[u32]| numbers.iter().map(|&b| Pair { a: 0, b }).collect::<Vec<_>>();
        let lists: [[&[u32]; 4]; 6] = [
            [&[], &[], &[], &[]],
            [&[2, 1], &[], &[1, 2], &[]],
            [&[], &[5, 3], &[], &[3, 5]],
            [&[4, 1, 3], &[3, 2, 1], &[4], &[2]],
            [&[1, 2], &[2, 1], &[], &[]],
            [&[9, 1], &[5, 7, 1, 8], &[9], &[5, 7, 8]],
        ];
        for [created, lost, is_created, is_lost] in lists {
            let mut changes = Changes { created: pairs(created), lost: pairs(lost) };
            changes.settle();
            assert_eq!([changes.created, changes.lost], [pairs(is_created), pairs(is_lost)]);
        }
    }
}
