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
/// In sweep order and one pass, each piece is written at once. In canonical order the pieces are ascending runs; those
/// of a long list wait in a temporary file and are merged. The pieces of several passes wait there in either order,
/// since the length of the list is known only after the last pass.
pub struct PairWriter<'a> {
    to: &'a mut dyn Write,
    order: PairOrder,
    /// Where the temporary file lies.
    directory: PathBuf,
    waiting: Option<Waiting>,
}

/// Where pairs wait until all have come.
enum Waiting {
    Nowhere,
    InMemory(Vec<Pair>),
    InFile(Runs),
}

impl<'a> PairWriter<'a> {
    /// Makes a writer to `to`, whose temporary file would lie in `directory`.
    pub fn new(to: &'a mut dyn Write, order: PairOrder, directory: PathBuf) -> Self {
        Self { to, order, directory, waiting: None }
    }

    /// Takes the next piece of the list that `report` tells of.
    pub fn add(&mut self, report: &Report, piece: &[Pair]) -> Result<()> {
        if self.waiting.is_none() {
            self.waiting = Some(self.begin(report, piece.len() as u64)?);
        }
        match &mut self.waiting {
            Some(Waiting::InMemory(pairs)) => pairs.extend_from_slice(piece),
            Some(Waiting::InFile(runs)) => runs.add(piece).with_context(|| runs.name.clone())?,
            _ => npy::write_pairs(&mut *self.to, piece)?,
        }
        Ok(())
    }

    /// Decides where the pairs wait, and writes the header if the length of the list is known.
    fn begin(&mut self, report: &Report, first_length: u64) -> Result<Waiting> {
        let in_file = || Runs::new(&self.directory, self.order, report.passes > 1).map(Waiting::InFile);
        if report.passes > 1 {
            return in_file();
        }
        npy::write_pairs_header(&mut *self.to, report.pair_count)?;
        if self.order == PairOrder::Sweep || first_length == report.pair_count {
            return Ok(Waiting::Nowhere);
        }
        reserved_in_memory(report.pair_count).map_or_else(in_file, |capacity| Ok(Waiting::InMemory(capacity)))
    }

    /// Writes the rest after the last piece.
    pub fn finish(self) -> Result<()> {
        match self.waiting {
            Some(Waiting::InMemory(mut pairs)) => {
                // This sort detects ascending runs.
                pairs.sort();
                npy::write_pairs(&mut *self.to, &pairs)?;
            }
            Some(Waiting::InFile(runs)) => runs.write_into(self.to)?,
            _ => {}
        }
        Ok(())
    }
}

/// Reserves memory to sort a list; `None` if it is too long, or there is no memory for it.
fn reserved_in_memory(pair_count: u64) -> Option<Vec<Pair>> {
    let count = usize::try_from(pair_count).ok().filter(|_| pair_count <= IN_MEMORY)?;
    let (mut capacity, mut for_merging) = (Vec::new(), Vec::<Pair>::new());
    capacity.try_reserve_exact(count).ok()?;
    for_merging.try_reserve_exact(count).ok()?;
    Some(capacity)
}

/// Pairs in a file without a name; in canonical order ascending runs.
struct Runs {
    name: String,
    file: BufWriter<File>,
    order: PairOrder,
    /// The header comes with the pairs: the length of the list was not known before.
    needs_header: bool,
    /// Where each run ends, in pairs; empty in sweep order.
    ends: Vec<u64>,
    last: Option<Pair>,
    count: u64,
}

impl Runs {
    fn new(directory: &std::path::Path, order: PairOrder, needs_header: bool) -> Result<Self> {
        let name = format!("a temporary file in {}", directory.display());
        let file = tempfile::tempfile_in(directory).with_context(|| name.clone())?;
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(Self { name, file, order, needs_header, ends: Vec::new(), last: None, count: 0 })
    }

    fn add(&mut self, piece: &[Pair]) -> io::Result<()> {
        let mut start = 0;
        for i in 0..if self.order == PairOrder::Canonical { piece.len() } else { 0 } {
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

    /// Writes the header if `needs_header`, and the pairs: merged in canonical order, and otherwise as they came.
    fn write_into(mut self, to: &mut dyn Write) -> Result<()> {
        if self.needs_header {
            npy::write_pairs_header(&mut *to, self.count)?;
        }
        if self.order == PairOrder::Canonical {
            return self.merge_into(to);
        }
        self.file.flush().and_then(|()| self.file.get_mut().rewind()).with_context(|| self.name.clone())?;
        io::copy(self.file.get_mut(), to)?;
        Ok(())
    }

    fn merge_into(mut self, to: &mut dyn Write) -> Result<()> {
        self.ends.push(self.count);
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error).context(self.name.clone())?;
        let capacity = (MERGE_BUFFERS / self.ends.len()).clamp(1 << 12, 1 << 20) / PAIR * PAIR;
        let mut start = 0;
        let mut runs = Vec::new();
        let mut next = BinaryHeap::new();
        for &end in &self.ends {
            let mut run = Run { next: start, end, buffer: Vec::new(), at: 0, capacity };
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
    capacity: usize,
}

impl Run {
    fn take(&mut self, file: &mut File) -> io::Result<Option<Pair>> {
        if self.at == self.buffer.len() {
            let remaining = (self.end - self.next).saturating_mul(PAIR as u64);
            self.buffer.resize(remaining.min(self.capacity as u64) as usize, 0);
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
            let written = |order, needs_header, ends| {
                let mut runs = Runs::new(&std::env::temp_dir(), order, needs_header).unwrap();
                pairs.chunks(length).for_each(|piece| runs.add(piece).unwrap());
                assert_eq!(runs.ends.len(), ends);
                let mut bytes = Vec::new();
                runs.write_into(&mut bytes).unwrap();
                bytes
            };
            let array = |pairs: &[Pair], has_header| {
                let mut bytes = Vec::new();
                if has_header {
                    npy::write_pairs_header(&mut bytes, pairs.len() as u64).unwrap();
                }
                npy::write_pairs(&mut bytes, pairs).unwrap();
                bytes
            };
            for has_header in [false, true] {
                // The third run continues the second.
                let merged = written(PairOrder::Canonical, has_header, 2);
                assert!(merged == array(&expected, has_header), "pieces of {length}");
                assert!(written(PairOrder::Sweep, has_header, 0) == array(&pairs, has_header), "pieces of {length}");
            }
        }
    }
}
