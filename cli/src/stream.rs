//! The way of a list of pairs of any length into a file, in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use broadsweep::{Pair, PairOrder, Report};

use laboratory::scenes::npy;

/// The most pairs of a list that is put in canonical order in memory: 128 MiB, and half of that for the merging.
const IN_MEMORY: u64 = 1 << 24;
/// Bytes of all runs together that are in memory while they are merged.
const MERGE_BUFFERS: usize = 64 << 20;
const PAIR: usize = size_of::<Pair>();

/// Takes the pieces of [`BroadPhase::stream_pairs`](broadsweep::BroadPhase::stream_pairs) and writes one array.
///
/// In the order of the sweep, a piece is written when it comes. In canonical order the pieces are ascending runs; those
/// of a long list wait in a temporary file, to be merged. So does a list of several passes, whose length is known in the end.
pub struct PairWriter<'a> {
    to: &'a mut dyn Write,
    order: PairOrder,
    /// Where the temporary file lies.
    directory: PathBuf,
    is_begun: bool,
    /// Whether the header has to wait for the last pass.
    is_in_passes: bool,
    waiting: Waiting,
}

enum Waiting {
    Nothing,
    InMemory(Vec<Pair>),
    InFile(Runs),
}

impl<'a> PairWriter<'a> {
    /// Makes a writer to `to`, whose temporary file would lie in `directory`.
    pub fn new(to: &'a mut dyn Write, order: PairOrder, directory: PathBuf) -> Self {
        Self { to, order, directory, is_begun: false, is_in_passes: false, waiting: Waiting::Nothing }
    }

    /// Takes the next piece of the list that `report` tells of.
    pub fn add(&mut self, report: &Report, piece: &[Pair]) -> Result<()> {
        if !self.is_begun {
            self.is_begun = true;
            let is_whole = piece.len() as u64 == report.pair_count;
            if report.passes > 1 {
                self.waiting = Waiting::InFile(Runs::new(&self.directory)?);
            } else {
                npy::write_pairs_header(&mut *self.to, report.pair_count)?;
                if self.order == PairOrder::Canonical && !is_whole {
                    self.waiting = match room_in_memory(report.pair_count) {
                        Some(room) => Waiting::InMemory(room),
                        None => Waiting::InFile(Runs::new(&self.directory)?),
                    };
                }
            }
            self.is_in_passes = report.passes > 1;
        }
        match &mut self.waiting {
            Waiting::Nothing => npy::write_pairs(&mut *self.to, piece)?,
            Waiting::InMemory(pairs) => pairs.extend_from_slice(piece),
            Waiting::InFile(runs) => runs.add(piece).with_context(|| runs.name.clone())?,
        }
        Ok(())
    }

    /// Writes what is left after the last piece.
    pub fn finish(self) -> Result<()> {
        match self.waiting {
            Waiting::Nothing => {}
            Waiting::InMemory(mut pairs) => {
                // Which finds the runs.
                pairs.sort();
                npy::write_pairs(&mut *self.to, &pairs)?;
            }
            Waiting::InFile(runs) => {
                if self.is_in_passes {
                    npy::write_pairs_header(&mut *self.to, runs.count)?;
                }
                match self.order {
                    PairOrder::Canonical => runs.merge_into(self.to)?,
                    PairOrder::Sweep => runs.copy_into(self.to)?,
                }
            }
        }
        Ok(())
    }
}

/// Returns room for a list that is put in order in memory; `None` where it is too long, or there is no memory for it.
fn room_in_memory(pair_count: u64) -> Option<Vec<Pair>> {
    let count = usize::try_from(pair_count).ok().filter(|_| pair_count <= IN_MEMORY)?;
    let (mut room, mut for_merging) = (Vec::new(), Vec::<Pair>::new());
    room.try_reserve_exact(count).ok()?;
    for_merging.try_reserve_exact(count).ok()?;
    Some(room)
}

/// Ascending runs of pairs in a file without a name.
struct Runs {
    name: String,
    file: BufWriter<File>,
    /// Where each ends, in pairs.
    ends: Vec<u64>,
    last: Option<Pair>,
    count: u64,
}

impl Runs {
    fn new(directory: &std::path::Path) -> Result<Self> {
        let name = format!("a temporary file in {}", directory.display());
        let file = tempfile::tempfile_in(directory).with_context(|| name.clone())?;
        Ok(Self { name, file: BufWriter::with_capacity(1 << 20, file), ends: Vec::new(), last: None, count: 0 })
    }

    fn add(&mut self, piece: &[Pair]) -> io::Result<()> {
        let mut start = 0;
        for i in 0..piece.len() {
            let before = if i == 0 { self.last } else { Some(piece[i - 1]) };
            if before.is_some_and(|before| piece[i] < before) {
                npy::write_pairs(&mut self.file, &piece[start..i])?;
                self.count += (i - start) as u64;
                self.ends.push(self.count);
                start = i;
            }
        }
        self.count += (piece.len() - start) as u64;
        self.last = piece.last().copied().or(self.last);
        npy::write_pairs(&mut self.file, &piece[start..])
    }

    /// Writes the pairs in the order in which they came.
    fn copy_into(self, to: &mut dyn Write) -> Result<()> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error).context(self.name.clone())?;
        file.rewind().context(self.name)?;
        io::copy(&mut file, to)?;
        Ok(())
    }

    fn merge_into(mut self, to: &mut dyn Write) -> Result<()> {
        self.ends.push(self.count);
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error).context(self.name.clone())?;
        let room = (MERGE_BUFFERS / self.ends.len()).clamp(1 << 12, 1 << 20) / PAIR * PAIR;
        let mut start = 0;
        let mut runs = Vec::new();
        let mut next = BinaryHeap::new();
        for &end in &self.ends {
            let mut run = Run { next: start, end, buffer: Vec::new(), at: 0, room };
            if let Some(pair) = run.take(&mut file).with_context(|| self.name.clone())? {
                next.push(Reverse((pair, runs.len())));
            }
            runs.push(run);
            start = end;
        }
        let mut merged = Vec::with_capacity(1 << 13);
        while let Some(mut least) = next.peek_mut() {
            let Reverse((pair, run)) = *least;
            merged.push(pair);
            if merged.len() == merged.capacity() {
                npy::write_pairs(&mut *to, &merged)?;
                merged.clear();
            }
            match runs[run].take(&mut file).with_context(|| self.name.clone())? {
                Some(pair) => *least = Reverse((pair, run)),
                None => drop(std::collections::binary_heap::PeekMut::pop(least)),
            }
        }
        npy::write_pairs(&mut *to, &merged)?;
        Ok(())
    }
}

/// One run while it is read.
struct Run {
    /// In pairs.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    at: usize,
    room: usize,
}

impl Run {
    fn take(&mut self, file: &mut File) -> io::Result<Option<Pair>> {
        if self.at == self.buffer.len() {
            let left = (self.end - self.next).saturating_mul(PAIR as u64);
            self.buffer.resize(left.min(self.room as u64) as usize, 0);
            file.seek(SeekFrom::Start(self.next * PAIR as u64))?;
            file.read_exact(&mut self.buffer)?;
            self.next += (self.buffer.len() / PAIR) as u64;
            self.at = 0;
        }
        let Some(bytes) = self.buffer.get(self.at..self.at + PAIR) else {
            return Ok(None);
        };
        self.at += PAIR;
        let [a, b] = [0, 4].map(|i| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]));
        Ok(Some(Pair { a, b }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_any_length_are_merged_whatever_the_pieces() {
        let run = |first: u32, count: u32| (0..count).map(move |i| Pair { a: first + 3 * i, b: 1 << 20 });
        let pairs: Vec<Pair> = run(0, 20_000).chain(run(1, 1)).chain(run(5, 9000)).chain(run(1, 3)).collect();
        let mut expected = pairs.clone();
        expected.sort();
        for length in [1, 7, 4096, pairs.len()] {
            let mut runs = Runs::new(&std::env::temp_dir()).unwrap();
            pairs.chunks(length).for_each(|piece| runs.add(piece).unwrap());
            assert_eq!(runs.ends.len(), 2); // the third continues the second
            let mut bytes = Vec::new();
            runs.merge_into(&mut bytes).unwrap();
            let mut wanted = Vec::new();
            npy::write_pairs(&mut wanted, &expected).unwrap();
            assert!(bytes == wanted, "pieces of {length}");
        }
    }
}
