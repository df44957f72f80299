//! The cached pairs by box, so that only the pairs of moved boxes are tested.

use crate::base::reserve::reserve;
use crate::{Error, Pair};

/// A pair in the row of its second box. It has the first box, to avoid a lookup in the list of pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    pub first: u32,
    pub number: u32,
}

/// The indices of the pairs of each box, in an ascending list of pairs.
#[derive(Debug, Default)]
pub struct Rows {
    /// `[box_count + 1]` the start of the pairs with this first box.
    firsts: Vec<u32>,
    /// `[box_count + 1]` the start in `seconds` of the pairs with this second box.
    starts: Vec<u32>,
    /// `[pair_count]` pairs by their second box.
    seconds: Vec<Second>,
}

impl Rows {
    /// Clears all pairs.
    pub fn clear(&mut self) {
        self.firsts.clear();
    }

    /// Returns whether the rows are filled.
    pub fn is_filled(&self) -> bool {
        !self.firsts.is_empty()
    }

    /// Fills the rows with these pairs of `box_count` boxes. They stay empty if the pair count exceeds 32 bits.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn fill(&mut self, pairs: &[Pair], box_count: usize) -> Result<(), Error> {
        let Ok(pair_count) = u32::try_from(pairs.len()) else { return Ok(()) };
        let Self { firsts, starts, seconds } = self;
        firsts.clear();
        starts.clear();
        seconds.clear();
        reserve(firsts, box_count as u64 + 1)?;
        reserve(starts, box_count as u64 + 1)?;
        reserve(seconds, pairs.len() as u64)?;
        for (number, pair) in (0..pair_count).zip(pairs) {
            // The row of a box without pairs begins at the next row.
            firsts.resize(pair.a as usize + 1, number);
        }
        firsts.resize(box_count + 1, pair_count);
        starts.resize(box_count + 1, 0);
        for pair in pairs {
            starts[pair.b as usize] += 1;
        }
        let mut end = 0;
        for start in &mut *starts {
            end += *start;
            *start = end;
        }
        seconds.resize(pairs.len(), Second::default());
        // Fill from the end, so that each row begins at its last written pair.
        for (number, pair) in (0..pair_count).zip(pairs).rev() {
            let place = &mut starts[pair.b as usize];
            *place -= 1;
            seconds[*place as usize] = Second { first: pair.a, number };
        }
        Ok(())
    }

    /// Returns the indices of the pairs with this first box.
    pub fn of_first(&self, id: u32) -> std::ops::Range<usize> {
        match self.firsts.get(id as usize..=id as usize + 1) {
            Some(&[start, end]) => start as usize..end as usize,
            // A box that was added later has no pairs here.
            _ => 0..0,
        }
    }

    /// Returns the pairs with this second box.
    pub fn of_second(&self, id: u32) -> &[Second] {
        match self.starts.get(id as usize..=id as usize + 1) {
            Some(&[start, end]) => &self.seconds[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        (self.firsts.capacity() + self.starts.capacity()) * size_of::<u32>()
            + self.seconds.capacity() * size_of::<Second>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_all_pairs_of_each_box() {
        let pair = |[a, b]: [u32; 2]| Pair { a, b };
        let lists: [(&[[u32; 2]], usize); 4] =
            [(&[], 0), (&[], 3), (&[[0, 1]], 2), (&[[0, 2], [0, 5], [2, 3], [2, 5], [4, 5], [7, 8]], 10)];
        for (list, box_count) in lists {
            let pairs: Vec<Pair> = list.iter().copied().map(pair).collect();
            let mut rows = Rows::default();
            rows.fill(&pairs, box_count).unwrap();
            assert!(rows.is_filled());
            for id in 0..box_count as u32 + 2 {
                let numbers = |is: &dyn Fn(&Pair) -> bool| -> Vec<usize> {
                    (0..pairs.len()).filter(|&number| is(&pairs[number])).collect()
                };
                assert_eq!(rows.of_first(id).collect::<Vec<_>>(), numbers(&|pair| pair.a == id));
                let seconds: Vec<usize> = rows.of_second(id).iter().map(|pair| pair.number as usize).collect();
                assert!(rows.of_second(id).iter().all(|pair| pairs[pair.number as usize].a == pair.first));
                assert_eq!(seconds, numbers(&|pair| pair.b == id));
            }
        }
    }
}
